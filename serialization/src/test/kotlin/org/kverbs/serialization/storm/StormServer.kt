package org.kverbs.serialization.storm

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.flow.asFlow
import kotlinx.io.Buffer
import kotlinx.io.readByteArray
import org.kverbs.Device
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.transferTo
import org.kverbs.serialization.answerRequests
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

/** A server that answers every kind of talk, and checks that it receives only what was sent. */
internal class StormServer(
    val device: Device,
    private val scope: CoroutineScope,
    private val ledger: ServiceLedger,
) : AutoCloseable {
    private val host = rdmaHost { device(device) }

    @Volatile
    private lateinit var server: RdmaServer

    /** The address of the current server. */
    lateinit var address: InetSocketAddress
        private set

    val connections: Collection<MessageConnection> get() = server.connections

    /** True if no client is connected. */
    val isIdle: Boolean get() = server.connections.isEmpty() && server.stats.halfOpen == 0

    fun start() {
        val number = device.name().filter(Char::isDigit).toInt() + 1
        val at = if (::address.isInitialized) address else InetSocketAddress("198.18.0.$number", 0)
        server =
            host.bind(at) {
                maxConnections(MOST)
                timeout(2.seconds)
                authorize { it.privateData[0].toInt() != Talk.REFUSED.ordinal }
                onFailure { ledger.told(it, "a handler") }
                channel { keepAlive(500.milliseconds) }
            }
        address = server.address
        server.serve(scope) { serve(it) }
    }

    /** Ends the server, with its connections or after them, and starts another. */
    suspend fun restart(isGraceful: Boolean) {
        if (isGraceful) server.stop(50.milliseconds) else server.close()
        start()
    }

    fun describe(): String = "$server ${server.stats}"

    private suspend fun serve(connection: MessageConnection) {
        val said = ByteBuffer.wrap(connection.privateData)
        val talk = Talk.entries[said.get().toInt()]
        val id = said.getLong()
        when (talk) {
            Talk.MESSAGES, Talk.CANCELLED, Talk.CLOSED -> echo(connection, talk, id)
            Talk.REQUESTS -> answer(connection)
            Talk.BYTES -> drink(connection, id)
            Talk.RECONNECTING -> for (message in connection.incoming) connection.send(message)
            Talk.REFUSED -> ledger.violation("$talk $id was let in")
        }
    }

    private suspend fun echo(
        connection: MessageConnection,
        talk: Talk,
        id: Long,
    ) {
        var number = 0
        for (message in connection.incoming) {
            if (!message.contentEquals(
                    StormBytes.message(id, number),
                )
            ) {
                ledger.violation("$talk $id: not message $number came")
            }
            number++
            ledger.steps.increment()
            connection.send(message)
        }
        val sent = ledger.messagesOf(id)
        if (sent != number) {
            ledger.violation(
                "$talk $id ended in good order after $number messages of ${sent ?: "a client that did not finish"}",
            )
        }
    }

    private suspend fun answer(connection: MessageConnection): Unit =
        connection.answerRequests {
            answer(REVERSE) {
                ledger.steps.increment()
                it.reversed()
            }
            answer(COUNT) { (0 until it).asFlow() }
            answer(SLEEP) {
                ledger.sleeping.incrementAndGet()
                try {
                    awaitCancellation()
                } finally {
                    ledger.sleeping.decrementAndGet()
                }
            }
            onFailure {
                method,
                failure,
                ->
                ledger.violation("the handler of $method failed: ${failure.stackTraceToString()}")
            }
        }

    private suspend fun drink(
        connection: MessageConnection,
        id: Long,
    ) {
        val buffer = Buffer()
        connection.transferTo(buffer)
        ledger.steps.increment()
        val came = buffer.readByteArray()
        if (!came.contentEquals(StormBytes.stream(id))) ledger.violation("BYTES $id: ${came.size} other bytes came")
        connection.send("${came.size}".encodeToByteArray())
    }

    override fun close(): Unit = host.close()

    private companion object {
        const val MOST = 6
    }
}
