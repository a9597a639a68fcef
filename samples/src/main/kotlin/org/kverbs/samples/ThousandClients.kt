package org.kverbs.samples

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import org.kverbs.Device
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost

/**
 * Opens a thousand connections to an [echoServer], and sends a request on all of them at once, on the device that the
 * argument names or on the first one.
 */
fun main(args: Array<String>) =
    both(args.firstOrNull(), { name, onListening -> echoServer(0, name, onListening) }) { host, port, name ->
        rdmaHost { device(Device.byName(name)) }.use { rdma ->
            // With a thousand connects at one moment, each takes longer than its timeout on a slow machine.
            val doors = Semaphore(CONNECTING)
            val answers =
                coroutineScope {
                    List(CLIENTS) {
                        async { doors.withPermit { rdma.connectMessages(host, port) { channel { receiveSlots(2) } } } }
                    }.awaitAll()
                        .mapIndexed { n, connection -> async { ask(connection, "request $n") == "request $n" } }
                        .awaitAll()
                }
            println("$name: ${answers.count { it }} of $CLIENTS clients were answered")
        }
    }

private suspend fun ask(
    connection: MessageConnection,
    question: String,
): String {
    connection.send(question.encodeToByteArray())
    return connection.receive().decodeToString().also { connection.disconnect() }
}

private const val CLIENTS = 1000
private const val CONNECTING = 8
