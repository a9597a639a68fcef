package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import org.kverbs.Device
import java.net.InetSocketAddress

/**
 * A server in a line, which runs until it is cancelled, on the RDMA hardware of this machine, or else on the embedded
 * device. See [RdmaServer.serve]: the handlers of its connections run concurrently.
 *
 * ```
 * fun main(): Unit = runBlocking {
 *     rdmaServer(7471) { connection -> for (message in connection.incoming) connection.send(message) }
 * }
 * ```
 *
 * It never returns, so a function whose body it is names its type, as here, or does not compile.
 *
 * It listens at every address, of IPv4 and IPv6, or with iWARP devices of IPv4 alone.
 *
 * @param device by whose connection manager, if not the usual one
 * @param onListening told the address with its port once connections are taken
 * @throws org.kverbs.DeviceNotFoundException if there is no such device
 * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is taken
 */
public suspend fun rdmaServer(
    port: Int,
    device: String? = null,
    settings: ServerBuilder.() -> Unit = {},
    onListening: (InetSocketAddress) -> Unit = {},
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
): Nothing {
    hostOf(device).use { host ->
        host.bind(port, settings).use { server ->
            onListening(server.address)
            coroutineScope { server.serve(this, handler) }
        }
    }
    error("a server ends by an exception only")
}

private fun hostOf(device: String?) = rdmaHost { if (device != null) device(Device.byName(device)) }

/**
 * A client in a line: `rdmaClient("server", 7471) { connection -> connection.send(bytes) }`. Disconnects after the
 * block, or closes the connection if that throws.
 *
 * @param host a name or an IP address; a name is looked up without blocking the caller's thread
 * @param device as for [rdmaServer]
 * @throws org.kverbs.cm.ConnectionException if no host has this name, as [connectMessages] does, and if the server did
 *   not take all messages within 5 s of the block's end ([MessageConnection.disconnect]): finish() in the block waits
 *   longer
 */
public suspend fun <R> rdmaClient(
    host: String,
    port: Int,
    device: String? = null,
    settings: ClientBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R = hostOf(device).use { it.connectMessages(host, port, settings).disconnecting(block) }

/** Disconnects after the block, or closes if that throws. */
private suspend fun <R> MessageConnection.disconnecting(block: suspend CoroutineScope.(MessageConnection) -> R): R =
    use { coroutineScope { block(it) }.also { disconnect() } }
