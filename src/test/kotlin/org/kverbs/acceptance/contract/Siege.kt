package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import org.kverbs.AccessFlag
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.RdmaConnection
import org.kverbs.coroutines.RdmaHost
import org.kverbs.coroutines.RdmaServer
import org.kverbs.coroutines.ServerBuilder
import org.kverbs.coroutines.bind
import org.kverbs.coroutines.connect
import org.kverbs.coroutines.connectMessages
import org.kverbs.coroutines.postReceive
import org.kverbs.coroutines.rdmaHost
import org.kverbs.coroutines.send
import org.kverbs.dsl.get
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource

/** Bytes of the longest message that a server under siege takes. */
internal const val LONGEST = 200_000L

/** A server, and what its clients are: one that is honest, and others that are not. */
internal class Siege(
    val bench: Bench,
    val server: RdmaServer,
    val hostile: RdmaHost,
    private val honest: RdmaHost,
) {
    val address: InetSocketAddress = InetSocketAddress(bench.ip, server.address.port)

    /** An honest client's connection that stays. */
    lateinit var regular: MessageConnection
        private set
    private var answers = 0

    suspend fun begin() {
        regular = honest.connectMessages(address)
    }

    /** The honest client asks over its connection, and over a new one. */
    suspend fun ask() {
        regular.shouldAnswer("question ${answers++}")
        honest.connectMessages(address).use {
            it.shouldAnswer("question ${answers++}")
            it.disconnect()
        }
    }

    private suspend fun MessageConnection.shouldAnswer(question: String) {
        send(question.encodeToByteArray())
        receive().decodeToString() shouldBe question
    }

    /** A client that speaks by hand, with a good hello by default. */
    suspend fun raw(
        hello: ByteArray = goodHello(),
        receives: Int = 8,
    ): RawClient =
        RawClient(
            hostile.connect(address) {
                privateData(hello)
                prepared { queuePair ->
                    val memory = queuePair.queuePair.protectionDomain().memoryRegion(SLOT.toLong(), AccessFlag.LOCAL_WRITE)
                    repeat(receives) { queuePair.postReceive(memory[0, SLOT.toLong()]) }
                }
            },
        )

    /** Waits until nobody is connected but the honest client, and says what is held then. */
    suspend fun settled(): Held {
        until("only the honest client is connected") { server.connections.size == 1 && server.stats.halfOpen == 0 }
        return Held.now(bench)
    }
}

/** A connection whose program knows the messages of a channel, and sends which it likes. */
internal class RawClient(
    private val connection: RdmaConnection,
) : AutoCloseable by connection {
    private val memory = connection.pd.memoryRegion(SLOT.toLong(), AccessFlag.LOCAL_WRITE)

    /** Sends a message; nothing if the connection has ended, as it should sooner or later. */
    suspend fun say(
        kind: Int,
        body: ByteArray = ByteArray(0),
        length: Int = body.size,
        credits: Int = 0,
    ) {
        memory.memory().asByteBuffer().run {
            put(kind.toByte()).put(0).putShort(credits.toShort())
            putInt(length).put(body)
        }
        runCatching { connection.queuePair.send(memory[0, HEADER + body.size.toLong()]) }
    }

    suspend fun awaitEnd(): Unit = connection.awaitEnd()

    private companion object {
        const val HEADER = 8
    }
}

private const val SLOT = 4096

/** What a client says first: four receive slots, slots of 4 KiB, and the longest message that it takes. */
internal fun goodHello(): ByteArray =
    ByteBuffer
        .allocate(24)
        .putInt(0x6b764d43)
        .putShort(2)
        .putShort(4)
        .putInt(SLOT)
        .putInt(0)
        .putLong(1000)
        .array()

/** Waits until [condition] holds; fails with [what] after a minute. */
internal suspend fun until(
    what: String,
    condition: () -> Boolean,
) {
    val start = TimeSource.Monotonic.markNow()
    while (!condition()) {
        check(start.elapsedNow() < 1.minutes) { "$what: not within a minute" }
        delay(10.milliseconds)
    }
}

/**
 * Has clients attack a server of the device in several rounds. An honest client asks after each of them, and is
 * answered. After the first rounds the server holds no more than before the others, and no connection when all have gone.
 *
 * @param handler what the server does for each client; by default it echoes
 */
internal fun Bench.siege(
    rounds: Int = 4,
    settings: ServerBuilder.() -> Unit = {},
    handler: suspend CoroutineScope.(MessageConnection) -> Unit = { for (message in it.incoming) it.send(message) },
    attack: suspend Siege.(round: Int) -> Unit,
): Unit =
    runBlocking(Dispatchers.Default) {
        val hosts = List(3) { rdmaHost { device(context.device()) } }
        try {
            coroutineScope {
                val server =
                    hosts[0].bind(at(0)) {
                        maxMessageSize(LONGEST)
                        onFailure {}
                        channel { keepAlive(300.milliseconds) }
                        settings()
                    }
                server.serve(this, handler)
                val siege = Siege(this@siege, server, hosts[1], hosts[2])
                siege.begin()

                suspend fun attackAndAsk(round: Int) {
                    siege.attack(round)
                    siege.ask()
                }
                repeat(WARM_UP) { attackAndAsk(it) }
                val before = siege.settled()
                repeat(rounds) { attackAndAsk(WARM_UP + it) }
                siege.settled()
                Held.shouldComeTo(before, this@siege)
                siege.regular.disconnect()
                until("nobody is connected") { server.connections.isEmpty() }
                withClue("${server.stats}") { server.stats.memory shouldBe 0 }
                server.close()
            }
        } finally {
            hosts.forEach { it.close() }
        }
    }

private const val WARM_UP = 2
