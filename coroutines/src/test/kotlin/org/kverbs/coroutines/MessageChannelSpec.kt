package org.kverbs.coroutines

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.receiveAsFlow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

class MessageChannelSpec :
    FunSpec({
        timeout = 120_000

        test("should deliver messages of every length around the slot size") {
            TwoChannels({ slotSize(256) }).use { ends ->
                coroutineScope {
                    for (length in listOf(0, 1, 7, 8, 247, 248, 249, 256, 1000, 100_000, 3_000_000)) {
                        val bytes = Random(length).nextBytes(length)
                        launch { ends.client.send(bytes) }
                        ends.server.receive().contentEquals(bytes) shouldBe true
                    }
                }
            }
        }

        test("should echo in one coroutine while the client sends and receives") {
            TwoChannels().use { ends ->
                coroutineScope {
                    launch {
                        for (message in ends.server.incoming) ends.server.send(message)
                        ends.server.finish()
                    }
                    launch {
                        repeat(1000) { ends.client.send("message $it".encodeToByteArray()) }
                        ends.client.finish()
                    }
                    var count = 0
                    for (message in ends.client.incoming) message.decodeToString() shouldBe "message ${count++}"
                    count shouldBe 1000
                }
            }
        }

        for ((slots, sends) in listOf(1 to 1, 1 to 8, 2 to 2, 3 to 1, 5 to 3)) {
            test(
                "should never find the peer without a receive, with $slots slots, $sends sends, and a slow reader on " +
                    "both sides",
            ) {
                TwoChannels({
                    receiveSlots(slots)
                    sendSlots(sends)
                    slotSize(256)
                    largeMessages(1 + slots / 2)
                }).use { ends ->
                    withContext(Dispatchers.Default) {
                        exchange(ends.client, ends.server, 2000, Random(slots), slow = 100)
                        launch { exchange(ends.client, ends.server, 2000, Random(slots), slow = 50) }
                        launch { exchange(ends.server, ends.client, 2000, Random(-slots), slow = 70) }
                    }
                }
            }
        }

        test("should make a sender wait for a reader") {
            TwoChannels({ receiveSlots(4) }).use { ends ->
                var sent = 0
                coroutineScope {
                    val sender =
                        launch {
                            repeat(10) {
                                ends.client.send(byteArrayOf(it.toByte()))
                                sent++
                            }
                        }
                    eventually(20.seconds) { sent shouldBe 4 }
                    delay(100) // time for a sender that does not wait
                    sent shouldBe 4
                    repeat(10) { ends.server.receive() shouldBe byteArrayOf(it.toByte()) }
                    sender.join()
                }
            }
        }

        test("should end the peer's loop after the last message, and leave the other direction open") {
            TwoChannels().use { ends ->
                repeat(3) { ends.client.send(byteArrayOf(it.toByte())) }
                ends.client.finish()
                ends.server
                    .incoming
                    .receiveAsFlow()
                    .map { it[0].toInt() }
                    .toList() shouldBe listOf(0, 1, 2)
                ends.server.receiveOrNull().shouldBeNull()
                shouldThrow<ChannelClosedException> { ends.server.receive() }.message shouldContain
                    "has sent its last message"
                shouldThrow<ChannelClosedException> { ends.client.send(ByteArray(1)) }.message shouldContain
                    "finished by this side"
                ends.server.send("still open".encodeToByteArray())
                ends.client.receive().decodeToString() shouldBe "still open"
            }
        }

        test("should lose no message to a cancelled receive") {
            TwoChannels({ slotSize(256) }).use { ends ->
                val random = Random(7)
                withContext(Dispatchers.Default) {
                    val sender = launch { repeat(500) { ends.client.send(numbered(it, random.nextInt(4, 600))) } }
                    var next = 0
                    while (next < 500) {
                        // The result of a cancelled async is lost, so the message is checked where it was received.
                        val receiver = launch { numberOf(ends.server.receive()) shouldBe next++ }
                        if (random.nextBoolean()) delay(random.nextLong(2))
                        receiver.cancelAndJoin()
                    }
                    sender.join()
                }
            }
        }

        for (length in listOf(4000, 5000, 400_000, 3_000_000)) {
            test("should deliver $length bytes in both directions when both sides send before they receive") {
                TwoChannels().use { ends ->
                    withTimeout(30_000) {
                        ends.client.send(numbered(1, length))
                        ends.server.send(numbered(2, length))
                        numberOf(ends.server.receive()) shouldBe 1
                        numberOf(ends.client.receive()) shouldBe 2
                    }
                }
            }
        }

        test("should register no more memory for messages after the first ones") {
            diagnosed {
                TwoChannels({ largeMessages(1) }).use { ends ->
                    suspend fun echo(length: Int) {
                        ends.client.send(numbered(1, length))
                        ends.server.send(ends.server.receive())
                        numberOf(ends.client.receive()) shouldBe 1
                    }

                    fun regions() =
                        Diagnostics
                            .openResources()
                            .map { it.resource() }
                            .filterIsInstance<MemoryRegion>()
                            .filter {
                                it.length() >
                                    16_384
                            }.toSet()
                    echo(400_000)
                    delay(20) // until the buffers are back
                    val before = regions()
                    repeat(20) {
                        ends.client.send(numbered(it, 4100 + 10_000 * it))
                        regions() shouldBe before
                        numberOf(ends.server.receive()) shouldBe it
                        regions() shouldBe before
                    }
                }
            }
        }
    })
