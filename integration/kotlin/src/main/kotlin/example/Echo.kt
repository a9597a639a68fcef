package example

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.net.InetSocketAddress

/** A server that echoes, and a client that sends it "ping", on the embedded device. */
fun main() =
    runBlocking {
        val listening = CompletableDeferred<InetSocketAddress>()
        val server =
            launch {
                rdmaServer(port = 0, device = "embedded0", onListening = listening::complete) { connection ->
                    for (message in connection.incoming) connection.send(message)
                }
            }
        rdmaClient("198.18.0.1", listening.await().port, device = "embedded0") { connection ->
            connection.send("ping".encodeToByteArray())
            println("echoed: ${connection.receive().decodeToString()}")
        }
        server.cancelAndJoin()
    }
