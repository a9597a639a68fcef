package org.kverbs.serialization

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.net.InetSocketAddress

/**
 * Runs a client of a server with [handler], both on the first embedded device.
 *
 * @param maxMessage the longest message that each side takes, in bytes
 */
internal suspend fun <R> served(
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    maxMessage: Long = 4 shl 20,
    client: suspend CoroutineScope.(MessageConnection) -> R,
): R =
    withContext(Dispatchers.Default) {
        val port = CompletableDeferred<Int>()
        val server =
            launch {
                val listening = { address: InetSocketAddress -> port.complete(address.port).let {} }
                rdmaServer(0, "embedded0", { maxMessageSize(maxMessage) }, listening, handler)
            }
        rdmaClient("127.0.0.1", port.await(), "embedded0", { maxMessageSize(maxMessage) }, client)
            .also { server.cancelAndJoin() }
    }
