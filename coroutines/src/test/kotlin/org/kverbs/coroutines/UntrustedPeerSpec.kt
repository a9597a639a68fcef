package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.delay
import kotlinx.coroutines.withTimeout
import org.kverbs.WorkCompletionException
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.RC
import org.kverbs.dsl.connectOptions
import org.kverbs.dsl.get
import org.kverbs.dsl.openDevice
import java.nio.ByteBuffer
import kotlin.random.Random

/** A channel whose peer is a queue pair that sends anything. */
internal class Liar(
    settings: MessageChannelBuilder.() -> Unit = {},
    maxMessageSize: Long = 1000,
) : AutoCloseable {
    private val device = openDevice("embedded0")
    val pd = device.protectionDomain()
    private val dispatcher = device.completionDispatcher()
    val channel = dispatcher.messageChannel(pd, settings)
    val qp = dispatcher.qp(pd, RC)
    private val memory = pd.memoryRegion(8192, AccessFlag.LOCAL_WRITE)

    init {
        channel.connect(qp.endpoint(), ChannelHello(4, 4096, maxMessageSize).toBytes())
        // The device gives up soon when the channel has ended.
        qp.connect(channel.queuePair.endpoint(), connectOptions { timeout(10).retryCount(1) })
    }

    suspend fun say(bytes: ByteArray) {
        memory.memory().asByteBuffer().put(bytes)
        qp.send(memory[0, bytes.size.toLong()])
    }

    suspend fun say(
        kind: Int,
        credits: Int = 0,
        length: Int? = null,
        body: ByteArray = ByteArray(0),
    ): Unit =
        say(
            ByteBuffer
                .allocate(8 + body.size)
                .put(kind.toByte())
                .put(0)
                .putShort(credits.toShort())
                .putInt(length ?: body.size)
                .put(body)
                .array(),
        )

    /** Returns the failure of the channel; an orderly end before the failure does not count. */
    suspend fun failure(): Throwable =
        withTimeout(50_000) {
            while (true) {
                val failure = runCatching { channel.awaitRemote("nothing") }.exceptionOrNull()
                if (failure !is ChannelClosedException) return@withTimeout checkNotNull(failure)
                delay(1)
            }
            error("never")
        }

    override fun close() = device.close()
}

/** The body of the announcement of a large message, which is not in the peer's memory. */
internal fun large(bytes: Long): ByteArray =
    ByteBuffer.allocate(24).putInt(1).putInt(2).putLong(3).putLong(bytes).array()

private fun region(
    bytes: Long,
    name: ByteArray,
) = ByteBuffer.allocate(20 + name.size).putLong(1).putLong(bytes).putInt(1).put(name).array()

class UntrustedPeerSpec :
    FunSpec({
        timeout = 60_000

        for ((what, lie, answer) in listOf<Triple<String, suspend Liar.() -> Unit, String>>(
            Triple("less than a header", { say(ByteArray(7)) }, "7 bytes, less than a header"),
            Triple("an unknown kind", { say(99) }, "unknown kind 99"),
            Triple(
                "a header that tells more than came",
                { say(1, length = 100, body = ByteArray(10)) },
                "header for 100 bytes and 10 bytes",
            ),
            Triple("a length beyond an Int", { say(1, length = -1) }, "header for 4294967295 bytes and 0 bytes"),
            Triple("credits that nobody used", { say(16, credits = 1) }, "gave back 1 credits, 1 more than were used"),
            Triple(
                "a large message of half a header",
                { say(2, body = ByteArray(12)) },
                "body of 12 bytes where 24 were expected",
            ),
            Triple(
                "a large message beyond maxMessageSize",
                { say(2, body = large(1L shl 40)) },
                "1099511627776 bytes, above maxMessageSize(67108864)",
            ),
            Triple("a large message of a negative length", {
                say(2, body = large(-1))
            }, "18446744073709551615 bytes, above maxMessageSize"),
            Triple(
                "that it has read what nobody sent",
                { say(17, body = ByteArray(4)) },
                "large message 0, which this side is not sending",
            ),
            Triple(
                "a body where none belongs",
                { say(18, body = ByteArray(1)) },
                "body of 1 bytes where 0 were expected",
            ),
            Triple("a message after its end", { say(18).also { say(1) } }, "a message after its end"),
            Triple("memory without an address", { say(3, body = ByteArray(19)) }, "published 19 bytes; no memory"),
            Triple("memory of a negative length", {
                say(3, body = region(-1, ByteArray(1)))
            }, "memory of 18446744073709551615 bytes"),
            Triple("memory without a name", { say(3, body = region(1, ByteArray(0))) }, "a name of 0 bytes"),
            Triple("a name that isn't text", { say(3, body = region(1, byteArrayOf(-1))) }, "isn't UTF-8"),
            Triple("the withdrawal of too long a name", { say(4, body = ByteArray(300)) }, "a name of 300 bytes"),
            Triple("an answer that nobody asked for", { say(20) }, "a question that this side did not ask"),
            Triple("an answer with a body", { say(20, body = ByteArray(1)) }, "body of 1 bytes where 0 were expected"),
            Triple("that it has an end that nobody sent", { say(21) }, "has the END of this side, which sent none"),
            Triple("a question with a body", { say(5, body = ByteArray(8)) }, "body of 8 bytes where 0 were expected"),
            Triple(
                "questions without end",
                { runCatching { repeat(40) { say(5) } } },
                "asked again before it was answered",
            ),
            Triple("more announcements than it has credits for", {
                repeat(17) { say(2, body = large(0)) }
            }, "more messages than the 16"),
            Triple("a message longer than any array", { say(2, body = large(1L shl 31)) }, "above maxMessageSize"),
            Triple("more than it has credits for", { repeat(17) { say(1) } }, "more messages than the 16"),
        )) {
            test("should end the channel when the peer sends $what") {
                Liar().use { liar ->
                    liar.lie()
                    val failure = liar.failure()
                    failure.shouldBeInstanceOf<ChannelProtocolException>().message shouldContain answer
                    shouldThrow<ChannelProtocolException> { liar.channel.send(ByteArray(1)) }
                }
            }
        }

        test("should limit the number of names that a peer publishes") {
            val names = RemoteNames()

            fun publish(name: Int) = names.arrived(3, region(1, "$name".encodeToByteArray()))
            repeat(1024) { publish(it) }
            shouldThrow<ChannelProtocolException> { publish(1024) }.message shouldContain "more than 1024 regions"
        }

        test(
            "should end the channel when the peer's large message is not at its address, and allocate no memory for it",
        ) {
            Liar().use { liar ->
                liar.say(2, body = large(60L shl 20))
                shouldThrow<WorkCompletionException> { liar.channel.receive() }
                shouldThrow<WorkCompletionException> { liar.channel.receive() }
            }
        }

        test("should end only with a protocol exception for any bytes") {
            for (seed in 1..60) {
                withClue("seed $seed") {
                    val random = Random(seed)
                    Liar({ slotSize(512) }).use { liar ->
                        val failure =
                            runCatching {
                                repeat(40) {
                                    val bytes = random.nextBytes(random.nextInt(8, 64))
                                    bytes[0] = listOf(1, 2, 3, 4, 5, 16, 17, 18, 20, 21, 22).random(random).toByte()
                                    if (random.nextInt(4) > 0) ByteBuffer.wrap(bytes).putShort(2, 0)
                                    if (random.nextInt(4) > 0) ByteBuffer.wrap(bytes).putInt(4, bytes.size - 8)
                                    liar.say(bytes)
                                }
                            }.exceptionOrNull()
                        (failure == null || failure is WorkCompletionException) shouldBe true
                        liar.failure().shouldBeInstanceOf<ChannelProtocolException>()
                    }
                }
            }
        }

        test("should refuse an invalid hello with the reason") {
            Liar().use { liar ->
                fun refuse(
                    hello: ByteArray,
                    answer: String,
                ) {
                    shouldThrow<ChannelProtocolException> { liar.channel.start(hello) }.message shouldContain answer
                }
                val good = ChannelHello(4, 4096, 1000).toBytes()
                good.size shouldBe 24
                refuse(ByteArray(0), "it has 0 bytes and not 24")
                refuse(ByteArray(24), "it begins with 0x00000000 and not 0x6b764d43")
                refuse(good.clone().also { it[5] = 1 }, "it is of version 1")
                refuse(good.clone().also { it[7] = 0 }, "0 receive slots")
                refuse(good.clone().also { it[6] = -1 }, "receive slots")
                refuse(good.clone().also { it[8] = -1 }, "slots of")
                refuse(good.clone().also { it[16] = -1 }, "the longest message that it takes has")
                ChannelHello.parse(good + ByteArray(100)) shouldBe ChannelHello(4, 4096, 1000)
            }
        }
    })
