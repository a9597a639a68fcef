package org.kverbs.samples

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.Device
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.reconnecting
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Asks [questions]. After a lost connection it connects again and repeats the question that has no answer yet. */
suspend fun patientClient(
    questions: List<String>,
    server: InetSocketAddress,
    device: String,
): List<String> {
    val answers = ArrayList<String>()
    rdmaHost { device(Device.byName(device)) }.use { host ->
        host.reconnecting(server, { backOff(10.milliseconds, 1.seconds) }) { connection ->
            while (answers.size < questions.size) {
                connection.send(questions[answers.size].encodeToByteArray())
                answers += connection.receive().decodeToString()
            }
        }
    }
    return answers
}

/** Gives one client [answers] answers, and ends. */
suspend fun shortLivedServer(
    name: String,
    port: Int,
    answers: Int,
    device: String,
    onListening: (InetSocketAddress) -> Unit = {},
) {
    rdmaHost { device(Device.byName(device)) }.use { host ->
        host.bind(port).use { server ->
            onListening(server.address)
            coroutineScope {
                server
                    .serve(this) { connection ->
                        repeat(answers) {
                            val question = connection.receive().decodeToString()
                            connection.send("$name: $question".encodeToByteArray())
                        }
                        connection.disconnect()
                        server.close()
                    }.join()
            }
        }
    }
}

/**
 * Asks a server that ends after two answers, and the server that replaces it, on the device that the argument names or
 * on the first one.
 */
fun main(args: Array<String>) {
    val name = args.firstOrNull() ?: Device.first().name()
    val host = ipAddressOf(name)
    runBlocking(Dispatchers.Default) {
        val listening = CompletableDeferred<Int>()
        launch {
            shortLivedServer("the first server", 0, answers = 2, name) { listening.complete(it.port) }
            shortLivedServer("the second server", listening.await(), answers = 1, name)
        }
        val answers = patientClient(listOf("one", "two", "three"), InetSocketAddress(host, listening.await()), name)
        answers.forEach { println("$name: $it") }
    }
}
