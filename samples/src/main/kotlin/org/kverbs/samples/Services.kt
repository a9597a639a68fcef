package org.kverbs.samples

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Semaphore
import kotlinx.coroutines.sync.withPermit
import kotlinx.io.files.Path
import org.kverbs.ConnectionRejectedException
import org.kverbs.Device
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaClient
import org.kverbs.coroutines.rdmaHost
import java.net.InetSocketAddress
import java.nio.file.Files
import kotlin.io.path.createTempDirectory
import kotlin.io.path.div
import kotlin.io.path.writeBytes
import kotlin.random.Random

/** Runs a server and its client in this program, on a device of this name or else the first. */
internal fun both(
    device: String?,
    server: suspend (String, (InetSocketAddress) -> Unit) -> Unit,
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

/** Says something and hears it again. */
internal fun echo(device: String?) =
    both(device, { name, onListening -> echoServer(0, name, onListening) }) { host, port, name ->
        println("$name: " + echoClient(host, port, "Hello, coroutines", name))
    }

/** Orders a hundred times at once, and what the shop does not have. */
internal fun orders(device: String?) =
    both(device, { name, onListening -> shop(0, name, onListening) }) { host, port, name ->
        buy(host, port, name).forEach { println("$name: $it") }
    }

/** Ten coroutines count to a thousand in a server's memory. */
internal fun counter(device: String?) =
    both(device, { name, onListening -> counterServer(0, name, onListening) }) { host, port, name ->
        val numbers = count(host, port, coroutines = 10, times = 100, name)
        println("$name: ${numbers.size} counted, ${numbers.toSet().size} of them different, up to ${numbers.max()}")
    }

/** Puts an entry into a server's table by a request, and reads it by RDMA. */
internal fun keyValue(device: String?) =
    both(device, { name, onListening -> KeyValueServer().serve(0, name, onListening) }) { host, port, name ->
        rdmaClient(host, port, name) { connection ->
            connection.keyValues {
                put("answer", "42")
                println("$name: answer = ${get("answer")}, question = ${get("question")}")
            }
        }
    }

/** Streams a file to a server that keeps it. */
internal fun upload(device: String?) {
    val folder = createTempDirectory("kverbs")
    try {
        val from = (folder / "from").apply { writeBytes(Random(0).nextBytes(FILE)) }
        val to = folder / "to"
        both(device, { name, onListening -> uploadServer(Path("$to"), 0, name, onListening) }) { host, port, name ->
            val answer = upload(Path("$from"), host, port, name)
            println("$name: $answer, ${if (Files.mismatch(from, to) < 0) "the same" else "others"}")
        }
    } finally {
        folder.toFile().deleteRecursively()
    }
}

/** Asks a server for its secret, with the right word and with a wrong one. */
internal fun vault(device: String?) =
    both(device, { name, onListening -> vault(0, "open sesame", name, onListening) }) { host, port, name ->
        println("$name: " + openVault(host, port, "open sesame", name))
        try {
            openVault(host, port, "open barley", name)
        } catch (_: ConnectionRejectedException) {
            println("$name: rejected with another secret")
        }
    }

/** Asks a server that ends in between, and the one that takes its place. */
internal fun reconnecting(device: String?) {
    val name = device ?: Device.first().name()
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

/** A thousand clients with a connection each, all open at once, ask the echo server at once. */
internal fun thousandClients(device: String?) =
    both(device, { name, onListening -> echoServer(0, name, onListening) }) { host, port, name ->
        rdmaHost { device(Device.byName(name)) }.use { rdma ->
            // A thousand connects at one moment on a slow machine would each wait longer than a step may take.
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
private const val FILE = 5_000_000
private const val CONNECTING = 8
