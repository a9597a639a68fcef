package org.kverbs.samples

import kotlinx.coroutines.coroutineScope
import org.kverbs.Device
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.reconnecting
import java.net.InetSocketAddress
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** Asks [questions], and goes on with the next one after the server was away. */
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

/** Answers one client, so many times, and ends. */
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
