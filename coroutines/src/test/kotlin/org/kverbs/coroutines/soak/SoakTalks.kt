package org.kverbs.coroutines.soak

import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.Device
import org.kverbs.RdmaException
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.ChannelClosedException
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.rdmaHost
import org.kverbs.dsl.memoryRegion
import org.kverbs.embedded.EmbeddedProvider
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicLong
import kotlin.random.Random

/**
 * Talks of clients with a server over UDP sockets: messages of all lengths that must come back as they were, memory
 * that is read, written and counted in, cancelled calls, and connections that end in every way.
 */
internal class SoakTalks : AutoCloseable {
    private val random = Random(System.nanoTime())
    private val network = "127.${random.nextInt(128, 255)}.${random.nextInt(256)}"
    private val serverAddress = "$network.2"
    private val serverHost = host(serverAddress)
    private val clientHost = host("$network.3")

    /** Number of messages and accesses that were checked. */
    val checked = AtomicLong()

    private fun host(address: String): RdmaHost {
        val devices = EmbeddedProvider("udp:$address")
        return rdmaHost { device(Device.of(devices, devices.devices().single())) }
    }

    /** Binds a server, lets [CLIENTS] clients talk to it, and closes it. */
    suspend fun round(): Unit =
        coroutineScope {
            serverHost.bind(InetSocketAddress(serverAddress, 0)).use { server ->
                val serving = server.serve(this) { serve(it) }
                coroutineScope {
                    repeat(CLIENTS) { number ->
                        launch { talk(clientHost.connectMessages(server.address), Random(random.nextLong()), number) }
                    }
                }
                server.stop()
                serving.join()
            }
        }

    private suspend fun serve(connection: MessageConnection) {
        val counter =
            connection.pd.memoryRegion(REGION) {
                access(
                    AccessFlag.LOCAL_WRITE,
                    AccessFlag.REMOTE_READ,
                    AccessFlag.REMOTE_WRITE,
                    AccessFlag.REMOTE_ATOMIC,
                )
            }
        try {
            connection.publish("memory", counter)
            for (message in connection.incoming) connection.send(message)
        } catch (_: RdmaException) {
            // the client ended without a word
        }
    }

    private suspend fun talk(
        connection: MessageConnection,
        random: Random,
        number: Int,
    ): Unit =
        connection.use {
            val memory = it.awaitRemote("memory")
            repeat(MESSAGES) { turn ->
                val bytes = random.nextBytes(if (turn % 8 == 0) random.nextInt(LARGE) else random.nextInt(SMALL))
                it.send(bytes)
                check(it.receive().contentEquals(bytes)) { "a message of ${bytes.size} bytes came back as another" }
                memory.write(bytes.copyOf(CELL), CELL)
                check(memory.read(CELL, CELL).contentEquals(bytes.copyOf(CELL))) { "memory was read as another" }
                check(memory.fetchAndAdd(0, 1) == turn.toLong()) { "the counter is not $turn" }
                checked.addAndGet(CHECKS)
            }
            // A cancelled wait takes no message.
            check(withTimeoutOrNull(1) { it.receive() } == null) { "a message came that nobody sent" }
            when (number % 3) {
                0 -> it.disconnect()
                1 -> it.finish()
                else -> endInTheMiddle(it, random)
            }
        }

    private suspend fun endInTheMiddle(
        connection: MessageConnection,
        random: Random,
    ) = try {
        coroutineScope {
            launch { repeat(SENDS) { connection.send(random.nextBytes(SMALL)) } }
            withTimeoutOrNull(random.nextLong(1, 5)) { while (true) connection.receive() }
            connection.close()
        }
    } catch (_: ChannelClosedException) {
        // the sender found the channel closed
    } catch (_: RdmaException) {
        // or its queue pair
    } catch (_: IllegalStateException) {
        // or the connection
    }

    override fun close() {
        clientHost.close()
        serverHost.close()
    }

    private companion object {
        const val CLIENTS = 6
        const val MESSAGES = 40
        const val CHECKS = 3L
        const val REGION = 4096L
        const val CELL = 64
        const val SMALL = 3_000
        const val LARGE = 200_000
        const val SENDS = 100
    }
}
