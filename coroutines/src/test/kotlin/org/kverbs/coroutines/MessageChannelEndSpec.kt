package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.toList
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.EmbeddedFabric
import kotlin.random.Random
import kotlin.time.Duration.Companion.microseconds

/** Returns the failure of a call. */
private suspend fun failure(call: suspend () -> Unit): Throwable? = runCatching { call() }.exceptionOrNull()

private suspend fun sendWithoutEnd(channel: MessageChannel) {
    while (true) channel.send(ByteArray(100_000))
}

class MessageChannelEndSpec :
    FunSpec({
        timeout = 120_000

        test("should end every wait of its own side on close, and report the close in every later call") {
            TwoChannels({ receiveSlots(2) }).use { ends ->
                coroutineScope {
                    val waits =
                        listOf<suspend () -> Unit>(
                            { ends.client.receive() },
                            { while (true) ends.client.send(ByteArray(1)) },
                            { ends.client.send(ByteArray(100_000)) },
                            { ends.client.awaitRemote("nothing") },
                        ).map { async(start = CoroutineStart.UNDISPATCHED) { failure(it) } }
                    delay(20)
                    ends.client.close()
                    waits.forEach {
                        it.await().shouldBeInstanceOf<ChannelClosedException>().message shouldContain
                            "closed by this side"
                    }
                }
                shouldThrow<ChannelClosedException> { ends.client.receive() }
                shouldThrow<ChannelClosedException> { ends.client.send(ByteArray(1)) }
                shouldThrow<ChannelClosedException> { ends.client.send(ByteArray(100_000)) }
                shouldThrow<ChannelClosedException> {
                    ends.client.publish(
                        "x",
                        ends.clientPd.memoryRegion(8, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE),
                    )
                }
                ends.client.close()
            }
        }

        test("should give the peer of a closed channel the arrived messages and then a failure") {
            TwoChannels({ receiveSlots(4) }).use { ends ->
                repeat(3) { ends.client.send(byteArrayOf(it.toByte())) }
                coroutineScope {
                    val sender =
                        async(
                            start = CoroutineStart.UNDISPATCHED,
                        ) { failure { while (true) ends.server.send(ByteArray(1)) } }
                    ends.client.close()
                    sender.await().shouldBeInstanceOf<ChannelClosedException>().message shouldContain "the peer closed"
                }
                repeat(3) { ends.server.receive() shouldBe byteArrayOf(it.toByte()) }
                shouldThrow<ChannelClosedException> { ends.server.receiveOrNull() }.message shouldContain
                    "the peer closed"
                shouldThrow<ChannelClosedException> { for (message in ends.server.incoming) error("nothing came") }
                shouldThrow<ChannelClosedException> { ends.server.send(ByteArray(1)) }
                ends.server.isOpen shouldBe false
            }
        }

        test("should end the peer's messages without an exception if the channel was finished before it was closed") {
            TwoChannels().use { ends ->
                ends.client.send(ByteArray(1))
                ends.client.send(ByteArray(100_000))
                ends.client.finish()
                ends.client.close()
                ends.server
                    .incoming
                    .toList()
                    .map { it.size } shouldBe listOf(1, 100_000)
                ends.server.receiveOrNull() shouldBe null
            }
        }

        test("should end with an exception when a large message before the end could not be read") {
            TwoChannels({ largeMessages(1) }, serverSettings = { fetchAhead(1000) }).use { ends ->
                ends.client.send(ByteArray(5000))
                // The second message begins when the server has read the first. The server reads it after a receive.
                ends.client.send(ByteArray(6000))
                withTimeoutOrNull(100) { ends.client.finish() }
                ends.client.close()
                while (ends.server.isOpen) delay(1)
                ends.server.receive().size shouldBe 5000
                shouldThrow<ChannelClosedException> { ends.server.receiveOrNull() }
            }
        }

        test("should fail the sender of large messages that the peer never receives") {
            TwoChannels().use { ends ->
                coroutineScope {
                    val sender = async(start = CoroutineStart.UNDISPATCHED) { failure { sendWithoutEnd(ends.client) } }
                    delay(20)
                    ends.server.close()
                    sender.await().shouldBeInstanceOf<ChannelClosedException>()
                }
            }
        }

        test("should end all waits when the device is closed") {
            val ends = TwoChannels({ receiveSlots(1) })
            coroutineScope {
                val waits =
                    listOf<suspend () -> Unit>(
                        { ends.client.receive() },
                        { while (true) ends.server.receive() },
                        { while (true) ends.client.send(ByteArray(1)) },
                    ).map { async(Dispatchers.Default) { failure(it) } }
                delay(20)
                ends.close()
                withTimeout(60_000) { waits.forEach { it.await().shouldBeInstanceOf<RuntimeException>() } }
            }
        }

        test("should end every wait when the peer's machine dies, as soon as something is sent") {
            EmbeddedFabric.realTime(1).use { fabric ->
                val one = fabric.addDevice()
                val other = fabric.addDevice()
                val impatient = connectOptions { timeout(10).retryCount(2).rnrRetry(0) }
                TwoChannels(clientDevice = one.open(), serverDevice = other.open(), options = impatient).use { ends ->
                    coroutineScope {
                        val waits =
                            listOf<suspend () -> Unit>(
                                { ends.client.receive() },
                                { ends.client.awaitRemote("nothing") },
                            ).map { async(start = CoroutineStart.UNDISPATCHED) { failure(it) } }
                        fabric.kill(other)
                        ends.client.send("is anybody there?".encodeToByteArray())
                        for (wait in waits) {
                            wait.await().shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                                WorkCompletionStatus.RETRY_EXC_ERR
                        }
                    }
                    shouldThrow<WorkCompletionException> { ends.client.send(ByteArray(1)) }
                }
            }
        }

        test("should end every wait with the failure that the connection manager reports") {
            TwoChannels().use { ends ->
                ends.client.send("before".encodeToByteArray())
                ends.client.finish()
                coroutineScope {
                    val sender = async(start = CoroutineStart.UNDISPATCHED) { failure { sendWithoutEnd(ends.server) } }
                    val gone = RdmaException("disconnected")
                    ends.server.fail(gone)
                    sender.await()?.message shouldBe "disconnected"
                    ends.server.receive().decodeToString() shouldBe "before"
                    shouldThrow<RdmaException> { ends.server.send(ByteArray(1)) }.message shouldBe "disconnected"
                }
            }
        }

        test("should fail waiting senders when the channel is finished, and deliver all messages whose send returned") {
            TwoChannels({ receiveSlots(2) }).use { ends ->
                coroutineScope {
                    var sent = 0
                    val sender =
                        async(start = CoroutineStart.UNDISPATCHED) {
                            failure {
                                while (true) {
                                    ends.client.send(ByteArray(1))
                                    sent++
                                }
                            }
                        }
                    ends.client.finish()
                    ends.client.finish()
                    sender.await().shouldBeInstanceOf<ChannelClosedException>()
                    var received = 0
                    for (message in ends.server.incoming) received++
                    received shouldBe sent
                }
            }
        }

        test("should refuse a message that is longer than the peer takes, and go on") {
            TwoChannels({ maxMessageSize(5000) }).use { ends ->
                shouldThrow<IllegalArgumentException> { ends.client.send(ByteArray(5001)) }.message shouldContain
                    "takes at most 5000"
                coroutineScope {
                    launch { ends.client.send(ByteArray(5000)) }
                    ends.server.receive().size shouldBe 5000
                }
            }
        }

        test("should report that it is not connected") {
            TwoChannels().use { ends ->
                val channel = ends.clientDispatcher.messageChannel(ends.clientPd)
                shouldThrow<IllegalStateException> { channel.send(ByteArray(1)) }.message shouldContain
                    "call connect(endpoint, hello)"
                channel.close()
                shouldThrow<IllegalStateException> { ends.client.start(ends.server.hello) }.message shouldContain
                    "has a peer already"
            }
        }

        test("should never hang, whenever it is closed") {
            for (seed in 1..100) {
                withClue("seed $seed") {
                    val random = Random(seed)
                    TwoChannels({
                        receiveSlots(random.nextInt(1, 5))
                        slotSize(256)
                        largeMessages(1)
                    }).use { ends ->
                        withContext(Dispatchers.Default) {
                            val both =
                                listOf(ends.client to ends.server, ends.server to ends.client).map { (from, to) ->
                                    async { runCatching { exchange(from, to, 10_000, Random(seed)) }.exceptionOrNull() }
                                }
                            delay(random.nextInt(3000).microseconds)
                            if (random.nextBoolean()) ends.client.close() else ends.server.close()
                            withTimeout(20_000) {
                                for (end in both) {
                                    val cause = end.await()
                                    withClue(
                                        cause?.stackTraceToString(),
                                    ) { cause.shouldBeInstanceOf<ChannelClosedException>() }
                                }
                            }
                        }
                    }
                }
            }
        }
    })
