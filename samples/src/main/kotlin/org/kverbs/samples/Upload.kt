package org.kverbs.samples

import kotlinx.io.files.Path
import kotlinx.io.files.SystemFileSystem
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaServer
import org.kverbs.coroutines.transferFrom
import org.kverbs.coroutines.transferTo
import java.net.InetSocketAddress
import java.nio.file.Files
import kotlin.io.path.createTempDirectory
import kotlin.io.path.div
import kotlin.io.path.writeBytes
import kotlin.random.Random

/**
 * Stores the last file that a client has sent completely. A client that disconnects before it has finished changes
 * nothing.
 */
suspend fun uploadServer(
    to: Path,
    port: Int,
    device: String? = null,
    onListening: (InetSocketAddress) -> Unit = {},
): Nothing =
    rdmaServer(port, device, { maxConnections(1) }, onListening) { connection ->
        val part = Path("$to.part")
        val length = SystemFileSystem.sink(part).use { connection.transferTo(it) }
        SystemFileSystem.atomicMove(part, to)
        connection.send("got $length bytes".encodeToByteArray())
    }

/**
 * Streams a file of any length to an [uploadServer], as fast as the server writes it, and returns the server's answer.
 */
suspend fun upload(
    from: Path,
    host: String,
    port: Int,
    device: String? = null,
): String =
    rdmaClient(host, port, device) { connection ->
        SystemFileSystem.source(from).use { connection.transferFrom(it) }
        connection.finish()
        connection.receive().decodeToString()
    }

/** Sends five megabytes to a server in this program, on the device that the argument names or on the first one. */
fun main(args: Array<String>) {
    val folder = createTempDirectory("kverbs")
    try {
        val from = (folder / "from").apply { writeBytes(Random(0).nextBytes(5_000_000)) }
        val to = folder / "to"
        both(
            args.firstOrNull(),
            server = { name, onListening -> uploadServer(Path("$to"), 0, name, onListening) },
        ) { host, port, name ->
            val answer = upload(Path("$from"), host, port, name)
            println("$name: $answer, ${if (Files.mismatch(from, to) < 0) "the same" else "others"}")
        }
    } finally {
        folder.toFile().deleteRecursively()
    }
}
