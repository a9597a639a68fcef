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

/** A client of a server that answers by [handler], both on the first embedded device. */
internal suspend fun <R> served(
    handler: suspend CoroutineScope.(MessageConnection) -> Unit,
    client: suspend CoroutineScope.(MessageConnection) -> R,
): R =
    withContext(Dispatchers.Default) {
        val port = CompletableDeferred<Int>()
        val server = launch { rdmaServer(0, "embedded0", onListening = { port.complete(it.port) }, handler = handler) }
        rdmaClient("127.0.0.1", port.await(), "embedded0", block = client).also { server.cancelAndJoin() }
    }
