package org.kverbs.krpc

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.TimeoutCancellationException
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.job
import kotlinx.rpc.RpcClient
import kotlinx.rpc.RpcServer
import kotlinx.rpc.krpc.KrpcConfigBuilder
import kotlinx.rpc.krpc.client.InitializedKrpcClient
import kotlinx.rpc.krpc.rpcClientConfig
import kotlinx.rpc.krpc.rpcServerConfig
import kotlinx.rpc.krpc.server.KrpcServer
import org.kverbs.RdmaException
import org.kverbs.coroutines.MessageConnection

private const val KRPC = "kRPC"

private suspend fun <R> MessageConnection.carrying(block: suspend CoroutineScope.() -> R): R {
    val carried = claimMessages(KRPC)
    check(carried == null) {
        "$this carries $carried already: one krpcClient or serveKrpc at a time, and no other protocol. One RpcClient " +
            "makes any number of calls at once"
    }
    try {
        return coroutineScope(block)
    } finally {
        releaseMessages(KRPC)
    }
}

/**
 * Serves kotlinx-rpc services to the peer until the peer has finished.
 *
 * ```
 * rdmaServer(7471) { connection ->
 *     connection.serveKrpc({ serialization { json() } }) {
 *         registerService<News> { Newsroom() }
 *     }
 * }
 * ```
 *
 * kRPC owns the connection: do not send or receive messages on it. Services run in the caller's context and are
 * cancelled when the client has finished or the connection fails.
 *
 * Compile the interfaces of the services in a module with Kotlin 2.3.0 and the compiler plugin of kotlinx-rpc; see
 * `samples/krpc` of this project.
 *
 * @param config the configuration of kRPC: at least the serialization; `connector` sets how much kRPC buffers for a
 *   call
 * @param services registers the services
 * @throws org.kverbs.RdmaException if the connection failed, or the peer does not use kRPC
 * @throws IllegalStateException if the connection carries kRPC, or another protocol such as typed requests
 */
public suspend fun MessageConnection.serveKrpc(
    config: KrpcConfigBuilder.Server.() -> Unit,
    services: RpcServer.() -> Unit,
): Unit =
    carrying {
        val transport = ConnectionTransport(this@serveKrpc, this, endsCleanly = true)
        val server = object : KrpcServer(rpcServerConfig(config), transport) {}
        try {
            server.services()
            server.awaitCompletion()
        } finally {
            transport.expectEnd()
            transport.coroutineContext.job.cancel()
        }
    }

/**
 * Runs the block with a client for the peer's kotlinx-rpc services, which the peer serves with [serveKrpc].
 *
 * ```
 * rdmaClient("server", 7471) { connection ->
 *     connection.krpcClient({ serialization { json() } }) { client ->
 *         val news = client.withService<News>()
 *         println(news.headline("rdma"))
 *         news.ticker().collect(::println)
 *     }
 * }
 * ```
 *
 * kRPC owns the connection: do not send or receive messages on it. If the connection fails or the server finishes, the
 * block is cancelled, because some calls of kRPC would wait for ever.
 *
 * @param config the configuration of kRPC: at least the serialization
 * @return the result of the block
 * @throws org.kverbs.RdmaException if the connection failed, the peer does not use kRPC, or the server finished while
 *   the block ran
 * @throws IllegalStateException if the connection carries kRPC, or another protocol such as typed requests
 */
public suspend fun <R> MessageConnection.krpcClient(
    config: KrpcConfigBuilder.Client.() -> Unit,
    block: suspend CoroutineScope.(RpcClient) -> R,
): R =
    carrying {
        val transport = ConnectionTransport(this@krpcClient, this, endsCleanly = false)
        val client = object : InitializedKrpcClient(rpcClientConfig(config), transport) {}
        try {
            coroutineScope { block(client) }
        } catch (e: CancellationException) {
            // When the server ends its services, kRPC cancels its calls but not the coroutine that waits for them.
            currentCoroutineContext().ensureActive()
            throw if (e is TimeoutCancellationException) {
                e
            } else {
                RdmaException(
                    "the server ended its services before this block had ended; see its log",
                    e,
                )
            }
        } finally {
            transport.expectEnd()
            client.close()
            transport.coroutineContext.job.cancel()
        }
    }
