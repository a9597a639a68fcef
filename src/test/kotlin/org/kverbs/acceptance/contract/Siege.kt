package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withTimeout
import org.kverbs.QueuePair
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType
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
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource

/** The length of the longest message that a server under siege accepts, in bytes. */
internal const val LONGEST = 200_000L

/** A server with its clients: an honest one, and others. */
internal class Siege(
    bench: Bench,
    val server: RdmaServer,
    val hostile: RdmaHost,
    private val honest: RdmaHost,
) {
    val address: InetSocketAddress = InetSocketAddress(bench.ip, server.address.port)

    /** An honest client's connection that stays. */
    lateinit var regular: MessageConnection
        private set
    private val answers = AtomicInteger()
    private val asking = Mutex()

    suspend fun begin() {
        regular = honest.connectMessages(address)
    }

    /** Lets the honest client ask over its connection, and over a new one. */
    suspend fun ask() {
        askAgain()
        withTimeout(BOUND) {
            honest.connectMessages(address).use {
                it.shouldAnswer("question ${answers.incrementAndGet()}")
                it.disconnect()
            }
        }
    }

    /** Lets the honest client ask over its connection. */
    suspend fun askAgain(): Unit =
        asking.withLock {
            withTimeout(BOUND) { regular.shouldAnswer("question ${answers.incrementAndGet()}") }
        }

    private suspend fun MessageConnection.shouldAnswer(question: String) {
        send(question.encodeToByteArray())
        receive().decodeToString() shouldBe question
    }

    /** Makes a client that writes its messages by hand, with a good hello by default. */
    suspend fun raw(
        hello: ByteArray = goodHello(),
        receives: Int = 8,
    ): RawClient =
        RawClient(
            hostile.connect(address) {
                privateData(hello)
                prepared { queuePair ->
                    val pd = queuePair.queuePair.protectionDomain()
                    val memory = pd.memoryRegion(SLOT.toLong(), AccessFlag.LOCAL_WRITE)
                    repeat(receives) { queuePair.postReceive(memory[0, SLOT.toLong()]) }
                }
            },
        )

    /** Waits until only the honest client is connected. */
    suspend fun settle() {
        until("only the honest client is connected") { server.connections.size == 1 && server.stats.halfOpen == 0 }
    }
}

/** A connection whose program knows the messages of a channel, and sends any of them. */
internal class RawClient(
    private val connection: RdmaConnection,
) : AutoCloseable by connection {
    private val memory = connection.pd.memoryRegion(SLOT.toLong(), AccessFlag.LOCAL_WRITE)

    /** Sends a message; does nothing if the connection has ended, as it should sooner or later. */
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

    val queuePair: QueuePair get() = connection.queuePair.queuePair

    suspend fun awaitEnd(): Unit = connection.awaitEnd()

    private companion object {
        const val HEADER = 8
    }
}

private const val SLOT = 4096

/** Returns a client's first message: four receive slots, slots of 4 KiB, and the longest message that it accepts. */
internal fun goodHello(): ByteArray =
    ByteBuffer
        .allocate(24)
        .putInt(0x6b764d43)
        .putShort(3)
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
 * Lets clients attack a server of the device in several rounds. An honest client asks during the attacks and
 * afterwards, and must be answered within a minute, far longer than it takes. After the first rounds the server must
 * hold no more than before the others, and no connection when all attackers have gone.
 *
 * Caches keep registered memory for the highest need at a time, so the regions and their memory may grow after some
 * rounds, but not after each: the rounds go on until several in succession have added none.
 *
 * @param rounds the least number of rounds
 * @param meanwhile what the honest client does during an attack, several times
 */
internal fun Bench.siege(
    rounds: Int = 4,
    settings: ServerBuilder.() -> Unit = {},
    handler: suspend CoroutineScope.(MessageConnection) -> Unit = ECHO,
    meanwhile: suspend Siege.() -> Unit = { ask() },
    attack: suspend Siege.(round: Int) -> Unit,
): Unit =
    besiege(settings, handler) {
        suspend fun attackAndAsk(round: Int) {
            coroutineScope {
                launch { repeat(ASKED) { meanwhile() } }
                attack(round)
            }
            ask()
            settle()
        }
        repeat(WARM_UP) { attackAndAsk(it) }
        val before = Held.whenCalm(this@siege)
        var most = before
        var round = 0
        var flat = 0
        while (round < rounds || flat < FLAT) {
            attackAndAsk(WARM_UP + round++)
            val now = Held.shouldComeTo(before, most, this@siege)
            flat = if (now hasNoMoreMemoryThan most) flat + 1 else 0
            most = most.withMemoryOf(now)
            withClue("held before: $before, after $round rounds: $now") {
                (round < MOST_ROUNDS * rounds) shouldBe true
            }
        }
    }

/**
 * Runs a server of the device with an honest client while [attack] runs. Afterwards only that client may be connected.
 *
 * @param handler what the server does for each client; by default it echoes
 */
internal fun Bench.besiege(
    settings: ServerBuilder.() -> Unit = {},
    handler: suspend CoroutineScope.(MessageConnection) -> Unit = ECHO,
    attack: suspend Siege.() -> Unit,
): Unit =
    runBlocking(Dispatchers.Default) {
        openSourcePorts()
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
                val siege = Siege(this@besiege, server, hosts[1], hosts[2])
                siege.begin()
                siege.attack()
                siege.regular.disconnect()
                until("nobody is connected") { server.connections.isEmpty() }
                withClue("${server.stats}") { server.stats.memory shouldBe 0 }
                server.close()
            }
        } finally {
            hosts.forEach { it.close() }
        }
    }

private val ECHO: suspend CoroutineScope.(MessageConnection) -> Unit = { for (message in it.incoming) it.send(message) }

/**
 * Makes an embedded device on UDP open its up to 16 sockets for sending. It opens each when a packet first needs its
 * port, which follows from the flow label, or else from the numbers of the queue pairs.
 */
private fun Bench.openSourcePorts() {
    if (device.provider == "native") return
    val (a, b) = linked(QueuePairType.UD)
    val qkey = ConnectOptions.DEFAULT_QKEY
    for (label in 1..64) {
        val address = a.qp.addressHandle(b.qp.endpoint(), ConnectOptions.builder().flowLabel(label).build())
        a.post { send(label.toLong()).inline(ByteArray(1)).to(address, b.qp.number(), qkey).signaled() }
        a.cq.takeOne()
        address.close()
    }
}

private const val WARM_UP = 2
private const val ASKED = 3
private val BOUND = 1.minutes

/** The rounds in succession that must add no memory. */
private const val FLAT = 3

/** The most rounds: a leak adds memory in each of them. */
private const val MOST_ROUNDS = 8
