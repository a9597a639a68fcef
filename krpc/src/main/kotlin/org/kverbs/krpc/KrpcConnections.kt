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
import java.util.concurrent.ConcurrentHashMap

/** Those that carry kRPC now. Two users of one would take each other's messages, and answers look alike. */
private val carrying: MutableSet<MessageConnection> = ConcurrentHashMap.newKeySet()

private suspend fun <R> MessageConnection.carrying(block: suspend CoroutineScope.() -> R): R {
    check(carrying.add(this)) {
        "$this carries kRPC already: one krpcClient or serveKrpc at a time. One RpcClient makes any number of calls " +
            "at once"
    }
    try {
        return coroutineScope(block)
    } finally {
        carrying.remove(this)
    }
}

/**
 * Serves kotlinx-rpc's services to the peer, until it has finished.
 *
 * ```
 * rdmaServer(7471) { connection ->
 *     connection.serveKrpc({ serialization { json() } }) {
 *         registerService<News> { Newsroom() }
 *     }
 * }
 * ```
 *
 * The connection is kRPC's own: nothing else may send or receive on it. Services run in the caller's context and are
 * cancelled when the client has finished or the connection fails.
 *
 * The interfaces of services stand in a module that is compiled by Kotlin 2.3.0 with kotlinx-rpc's compiler plugin; see
 * `samples/krpc` of this project.
 *
 * @param config kRPC's configuration: the serialization at least, and how much kRPC buffers a call (`connector`)
 * @param services registers the services
 * @throws org.kverbs.RdmaException if the connection failed, or the peer speaks no kRPC
 * @throws IllegalStateException if the connection carries kRPC already
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
 * Uses kotlinx-rpc's services of the peer, which [serveKrpc] serves.
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
 * The connection is kRPC's own: nothing else may send or receive on it. If it fails, or the server finishes, the block
 * is cancelled, as kRPC would let some of its calls wait for ever.
 *
 * @param config kRPC's configuration: the serialization at least
 * @return what the block returns
 * @throws org.kverbs.RdmaException if the connection failed, the peer speaks no kRPC, or the server finished while the
 *     block ran
 * @throws IllegalStateException if the connection carries kRPC already
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
            // kRPC cancels its calls when the server ends its services, and not the coroutine that waits for them.
            currentCoroutineContext().ensureActive()
            throw if (e is TimeoutCancellationException) e else RdmaException("the server ended its services", e)
        } finally {
            transport.expectEnd()
            client.close()
            transport.coroutineContext.job.cancel()
        }
    }
