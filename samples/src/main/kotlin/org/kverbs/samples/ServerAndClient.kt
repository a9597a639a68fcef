package org.kverbs.samples

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.Device
import java.net.InetSocketAddress

/**
 * Runs a [server] and its [client] in this program, and cancels the server when the client has finished.
 *
 * @param device the name of the device that both use; null for the first one
 */
fun both(
    device: String?,
    server: suspend (device: String, onListening: (InetSocketAddress) -> Unit) -> Unit,
    client: suspend (host: String, port: Int, device: String) -> Unit,
) {
    val name = device ?: Device.first().name()
    val host = ipAddressOf(name).hostAddress
    runBlocking(Dispatchers.Default) {
        val listening = CompletableDeferred<InetSocketAddress>()
        val serving = launch { server(name) { listening.complete(it) } }
        client(host, listening.await().port, name)
        serving.cancel()
    }
}
