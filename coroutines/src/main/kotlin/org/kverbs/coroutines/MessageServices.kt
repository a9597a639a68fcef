package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import org.kverbs.Device
import java.net.InetSocketAddress

/**
 * Runs a message server until the caller is cancelled, on the RDMA hardware of this machine, or without hardware on the
 * embedded device. The handlers of its connections run concurrently, see [RdmaServer.serve].
 *
 * ```
 * fun main(): Unit = runBlocking {
 *     rdmaServer(7471) { connection -> for (message in connection.incoming) connection.send(message) }
 * }
 * ```
 *
 * This function never returns. If it is the body of a function, declare that function's type, as above; otherwise it
 * does not compile.
 *
 * The server listens at every address, IPv4 and IPv6; on a machine with iWARP devices IPv4 alone.
 *
 * @param device the name of the device; default null, the first RDMA hardware or the embedded device
 * @param onListening called with the address and port when the server takes connections
 * @throws org.kverbs.DeviceNotFoundException if there is no device of this name
 * @throws org.kverbs.RdmaSystemException EADDRINUSE if the port is in use
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
 * Connects to a message server, runs the block with the connection, and disconnects:
 * `rdmaClient("server", 7471) { connection -> connection.send(bytes) }`. If the block throws, closes the connection.
 *
 * @param host a host name or IP address; a name is looked up without blocking the caller's thread
 * @param device as for [rdmaServer]
 * @throws org.kverbs.cm.ConnectionException as [connectMessages], if no host has this name, and if the server has not
 *   taken all messages within 5 s of the block's end ([MessageConnection.disconnect]): to wait longer, call finish() in
 *   the block
 */
public suspend fun <R> rdmaClient(
    host: String,
    port: Int,
    device: String? = null,
    settings: ClientBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R = hostOf(device).use { it.connectMessages(host, port, settings).disconnecting(block) }

/** Runs the block and disconnects; closes the connection if the block throws. */
private suspend fun <R> MessageConnection.disconnecting(block: suspend CoroutineScope.(MessageConnection) -> R): R =
    use { coroutineScope { block(it) }.also { disconnect() } }
