package example

import kotlinx.coroutines.runBlocking
import org.kverbs.RdmaException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import kotlin.system.exitProcess

private const val PORT = 7471

/** Sends every message back, until the client has finished. */
suspend fun echo(connection: MessageConnection) {
    for (message in connection.incoming) connection.send(message)
}

/** Sends [text] to a server that echoes, and gives its answer. */
suspend fun ask(
    connection: MessageConnection,
    text: String,
): String {
    connection.send(text.encodeToByteArray())
    return connection.receive().decodeToString()
}

private suspend fun run(arguments: List<String>) {
    when {
        arguments == listOf("serve") ->
            rdmaServer(PORT, onListening = { println("listening on port ${it.port}") }) { echo(it) }
        arguments.size == 2 -> {
            val (host, text) = arguments
            rdmaClient(host, PORT) { println(ask(it, text)) }
        }
        else -> {
            System.err.println("usage: serve | HOST TEXT")
            exitProcess(2)
        }
    }
}

/** `serve` runs the server, and `HOST TEXT` a client. */
fun main(arguments: Array<String>) {
    try {
        runBlocking { run(arguments.asList()) }
    } catch (e: RdmaException) {
        System.err.println(e.message)
        exitProcess(1)
    }
}
