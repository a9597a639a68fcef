package org.kverbs.samples

import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import java.net.InetSocketAddress

/** Sends every message back to its sender, until the caller is cancelled. */
suspend fun echoServer(
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, onListening = onListening) { connection ->
        for (message in connection.incoming) connection.send(message)
    }

/** Sends a line to an [echoServer], and returns the answer. */
suspend fun echoClient(
    host: String,
    port: Int,
    line: String,
    device: String? = null,
): String =
    rdmaClient(host, port, device) { connection ->
        connection.send(line.encodeToByteArray())
        connection.receive().decodeToString()
    }

/** Runs both ends in this program, on the device that the argument names or on the first one. */
fun main(args: Array<String>) =
    both(args.firstOrNull(), { name, onListening -> echoServer(0, name, onListening) }) { host, port, name ->
        println("$name: " + echoClient(host, port, "Hello, coroutines", name))
    }
