package org.kverbs.serialization.storm

import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.io.Buffer
import org.kverbs.cm.ConnectionException
import org.kverbs.coroutines.ClientBuilder
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.reconnecting
import org.kverbs.coroutines.transferFrom
import org.kverbs.serialization.RequestScope
import org.kverbs.serialization.RequestTimeoutException
import org.kverbs.serialization.method
import org.kverbs.serialization.requests
import org.kverbs.serialization.streamMethod
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.random.Random
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds

internal val REVERSE = method<String, String>("reverse")
internal val SLEEP = method<Unit, Unit>("sleep")
internal val COUNT = streamMethod<Int, Int>("count")

/** Runs the clients' side of each [Talk]. */
internal class ServiceTalks(
    private val ledger: ServiceLedger,
) {
    suspend fun run(
        talk: Talk,
        id: Long,
        host: RdmaHost,
        server: InetSocketAddress,
        random: Random,
    ): Outcome {
        val settings: ClientBuilder.() -> Unit = {
            privateData(ByteBuffer.allocate(9).put(talk.ordinal.toByte()).putLong(id).array())
            timeout(2.seconds)
            backOff(1.milliseconds, 100.milliseconds)
            channel { keepAlive(500.milliseconds) }
        }

        suspend fun connected(block: suspend (MessageConnection) -> Unit) =
            host.connectMessages(server, settings).use {
                block(it)
            }
        when (talk) {
            Talk.MESSAGES -> {
                connected { messages(it, talk, id, random) }
            }

            Talk.CANCELLED -> {
                return cancelled(random) { connected { messages(it, talk, id, Random(id)) } }
            }

            Talk.CLOSED -> {
                connected { closed(it, talk, id, random) }
            }

            Talk.REQUESTS -> {
                connected { connection ->
                    connection.requests { makeRequests(random) }.also { connection.disconnect() }
                }
            }

            Talk.BYTES -> {
                connected { bytes(it, id, random) }
            }

            Talk.REFUSED -> {
                refused { connected { ledger.violation("$talk $id was let in") } }
            }

            Talk.RECONNECTING -> {
                questions(host, server, settings)
            }
        }
        return Outcome.COMPLETED
    }

    private suspend fun messages(
        connection: MessageConnection,
        talk: Talk,
        id: Long,
        random: Random,
    ): Unit =
        coroutineScope {
            val count = random.nextInt(60)
            launch {
                repeat(count) { connection.send(StormBytes.message(id, it)) }
                ledger.finishes(id, count)
                connection.finish()
            }
            var number = 0
            for (message in connection.incoming) {
                if (!message.contentEquals(
                        StormBytes.message(id, number),
                    )
                ) {
                    ledger.violation("$talk $id: not the echo of $number came")
                }
                number++
                ledger.steps.increment()
                if (random.nextInt(20) == 0) delay(1.milliseconds)
            }
            if (number != count) ledger.violation("$talk $id ended in good order after $number echoes of $count")
        }

    private suspend fun closed(
        connection: MessageConnection,
        talk: Talk,
        id: Long,
        random: Random,
    ) {
        val count = random.nextInt(60)
        repeat(count) {
            connection.send(StormBytes.message(id, it))
            if (!connection.receive().contentEquals(
                    StormBytes.message(id, it),
                )
            ) {
                ledger.violation("$talk $id: not the echo of $it came")
            }
            ledger.steps.increment()
        }
        connection.close()
    }

    private suspend fun cancelled(
        random: Random,
        talk: suspend () -> Unit,
    ): Outcome =
        coroutineScope {
            val talking = async { runCatching { talk() }.exceptionOrNull() }
            delay(random.nextLong(40))
            if (talking.isActive) {
                talking.cancelAndJoin()
                Outcome.CANCELLED
            } else {
                talking.await()?.let { throw it }
                Outcome.COMPLETED
            }
        }

    private suspend fun RequestScope.makeRequests(random: Random) {
        val numbers = async { stream(COUNT, 150, buffer = random.nextInt(1, 40)).toList() }
        val fewer = async { stream(COUNT, 150).take(10).toList() }
        val sleeping = launch { call(SLEEP, Unit) }
        val words =
            List(20) { number ->
                async {
                    val word = "word $number".repeat(random.nextInt(1, 600))
                    if (call(REVERSE, word) != word.reversed()) ledger.violation("the answer to another request came")
                    ledger.steps.increment()
                }
            }
        val late = async { runCatching { call(SLEEP, Unit, timeout = 5.milliseconds) }.exceptionOrNull() }
        words.awaitAll()
        if (numbers.await() != List(150) { it }) ledger.violation("a stream of items was not whole: ${numbers.await()}")
        if (fewer.await() != List(10) { it }) {
            ledger.violation("the begin of a stream of items was not whole: ${fewer.await()}")
        }
        late.await().let {
            if (it !is RequestTimeoutException) throw checkNotNull(it) { "a request was answered that is never" }
        }
        sleeping.cancelAndJoin()
    }

    private suspend fun bytes(
        connection: MessageConnection,
        id: Long,
        random: Random,
    ) {
        val stream = StormBytes.stream(id)
        connection.transferFrom(Buffer().apply { write(stream) }, random.nextLong(1000, 70_000))
        connection.finish()
        val answer = connection.receive().decodeToString()
        if (answer != "${stream.size}") ledger.violation("BYTES $id: $answer bytes came of ${stream.size}")
        ledger.steps.increment()
        connection.disconnect()
    }

    private suspend fun refused(attempt: suspend () -> Unit) {
        try {
            attempt()
        } catch (_: ConnectionException) {
            ledger.steps.increment()
        }
    }

    private suspend fun questions(
        host: RdmaHost,
        server: InetSocketAddress,
        settings: ClientBuilder.() -> Unit,
    ) {
        var asked = 0
        host.reconnecting(server, settings) { connection ->
            while (asked < 20) {
                connection.send("$asked".encodeToByteArray())
                val answer = connection.receive().decodeToString()
                if (answer != "$asked") ledger.violation("the answer to $asked was $answer")
                asked++
                ledger.steps.increment()
                delay(1.milliseconds)
            }
        }
    }
}

/** Returns the bytes that a client sends; they follow from its number, so that the server knows them. */
internal object StormBytes {
    fun message(
        id: Long,
        number: Int,
    ): ByteArray {
        val random = Random(id * 1000 + number)
        return random.nextBytes(if (random.nextInt(6) == 0) random.nextInt(50_000) else random.nextInt(3000))
    }

    fun stream(id: Long): ByteArray = Random(id).let { it.nextBytes(it.nextInt(300_000)) }
}
