package org.kverbs.coroutines

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeSorted
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.MiB
import org.kverbs.dsl.connectOptions
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.Faults
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.util.concurrent.ConcurrentLinkedQueue
import kotlin.random.Random

class MessageChannelStormSpec :
    FunSpec({
        timeout = 300_000

        test("should deliver 100,000 messages of random length in both directions, whole and in order") {
            TwoChannels().use { ends ->
                withContext(Dispatchers.Default) {
                    launch { exchange(ends.client, ends.server, 100_000, Random(1), longest = 5000) }
                    launch { exchange(ends.server, ends.client, 100_000, Random(2), longest = 5000) }
                }
            }
        }

        test("should not lose, repeat or cut a message when senders and receivers are cancelled all the time") {
            for (seed in 1..10) {
                withClue("seed $seed") {
                    val random = Random(seed)
                    TwoChannels({
                        receiveSlots(random.nextInt(1, 4))
                        sendSlots(random.nextInt(1, 4))
                        slotSize(256)
                        largeMessages(2)
                    }).use { ends ->
                        val sent = ConcurrentLinkedQueue<Int>()
                        val received = ConcurrentLinkedQueue<Int>()
                        withContext(Dispatchers.Default) {
                            val reader =
                                launch {
                                    val pace = Random(-seed)
                                    while (ends.server.receiveOrNullBriefly(pace, received)) yield()
                                }
                            repeat(400) { number ->
                                val job =
                                    launch(start = CoroutineStart.UNDISPATCHED) {
                                        ends.client.send(numbered(number, if (random.nextInt(8) == 0) 300 else 20))
                                        sent.add(number)
                                    }
                                if (random.nextInt(3) == 0) job.cancelAndJoin() else job.join()
                            }
                            ends.client.finish()
                            reader.join()
                        }
                        // Messages of cancelled sends can be missing, but no others, and none arrives twice or late.
                        received.toSet().size shouldBe received.size
                        received.toList().shouldBeSorted()
                        received.toList() shouldContainAll sent.toList()
                    }
                }
            }
        }

        test("should end without an exception only if the peer has finished, wherever the peer crashes") {
            for (seed in 1..60) {
                withClue("seed $seed") {
                    val random = Random(seed)
                    TwoChannels({
                        receiveSlots(random.nextInt(1, 5))
                        slotSize(256)
                        largeMessages(2)
                        fetchAhead(random.nextLong(1, 2000))
                    }).use { ends ->
                        val count = 20
                        val crashAfter = random.nextInt(count + 1)
                        withContext(Dispatchers.Default) {
                            launch {
                                val pace = Random(-seed)
                                repeat(crashAfter) {
                                    ends.client.send(
                                        numbered(
                                            it,
                                            if (pace.nextInt(3) == 0) {
                                                900
                                            } else {
                                                20
                                            },
                                        ),
                                    )
                                }
                                if (crashAfter == count) ends.client.finish()
                                ends.client.close()
                            }
                            var received = 0
                            val end =
                                runCatching {
                                    for (message in ends.server.incoming) {
                                        numberOf(message) shouldBe
                                            received++
                                    }
                                }
                            if (crashAfter == count) {
                                end.getOrThrow()
                                received shouldBe count
                            } else {
                                end.exceptionOrNull().shouldBeInstanceOf<ChannelClosedException>()
                            }
                        }
                    }
                }
            }
        }

        test(
            "should never wait for the peer's receiver while there are credits, whatever the lengths of messages",
        ) {
            for (seed in 1..30) {
                withClue("seed $seed") {
                    val random = Random(seed)
                    val slots = random.nextInt(2, 9)
                    TwoChannels({
                        receiveSlots(slots)
                        slotSize(256)
                        largeMessages(random.nextInt(1, 4))
                    }).use { ends ->
                        withContext(Dispatchers.Default) {
                            repeat(20) {
                                // Half of the slots: the credits of the others can still be missing.
                                val lengths =
                                    List(
                                        slots / 2,
                                    ) {
                                        if (random.nextBoolean()) {
                                            random.nextInt(
                                                4,
                                                248,
                                            )
                                        } else {
                                            random.nextInt(249, 20_000)
                                        }
                                    }
                                for (channel in listOf(ends.client, ends.server)) {
                                    lengths.forEachIndexed { number, length -> channel.send(numbered(number, length)) }
                                }
                                for (channel in listOf(ends.client, ends.server)) {
                                    lengths.forEachIndexed { number, _ -> numberOf(channel.receive()) shouldBe number }
                                }
                            }
                        }
                    }
                }
            }
        }

        test("should end every send although the peer reads nothing") {
            TwoChannels({ receiveSlots(2) }).use { ends ->
                repeat(
                    2,
                ) { withTimeoutOrNull(50) { while (true) ends.client.send(ByteArray(2_000_000)) } shouldBe null }
                val pool = ends.clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }
                pool.take(100_000).use { buffer ->
                    withTimeoutOrNull(50) { ends.client.send(buffer) } shouldBe null
                    pool.taken shouldBe 1
                }
                ends.client.close()
                while (pool.taken > 0) delay(1)
            }
        }

        test("should deliver every message once over a network that loses, repeats and reorders packets") {
            EmbeddedFabric.realTime(11).use { fabric ->
                val one = fabric.addDevice()
                val other = fabric.addDevice()
                fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.02).reordering(0.02))
                val patient = connectOptions { rnrRetry(0).retryCount(7).timeout(12) }
                TwoChannels({
                    receiveSlots(4)
                    slotSize(512)
                }, clientDevice = one.open(), serverDevice = other.open(), options = patient).use { ends ->
                    withContext(Dispatchers.Default) {
                        launch { exchange(ends.client, ends.server, 1500, Random(3), longest = 3000) }
                        launch { exchange(ends.server, ends.client, 1500, Random(4), longest = 3000) }
                    }
                }
                fabric.faultsInjected() shouldBeGreaterThan 100
            }
        }

        test("should move large messages between pooled buffers without a copy of its own") {
            TwoChannels().use { ends ->
                val pool =
                    ends.clientPd.bufferPool {
                        access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ)
                        slabSize(4.MiB)
                        maxBufferSize(4.MiB)
                    }
                val private =
                    ends.serverPd.bufferPool {
                        slabSize(4.MiB)
                        maxBufferSize(4.MiB)
                    }
                withContext(Dispatchers.Default) {
                    for (length in listOf(100L, 5_000L, 3_000_000L)) {
                        val bytes = Random(length).nextBytes(length.toInt())
                        pool.take(4.MiB).use { from ->
                            private.take(length).use { into ->
                                from.write(bytes)
                                val sender = launch { ends.client.send(from, length) }
                                ends.server.receive(into) shouldBe length
                                into.memory.toArray(JAVA_BYTE).contentEquals(bytes) shouldBe true
                                sender.join()
                                into.memory.fill(0)
                                // Memory that the peer cannot read is sent through a copy.
                                val back = launch { ends.server.send(into, length) }
                                ends.client.receive(from) shouldBe length
                                back.join()
                            }
                        }
                    }
                }
                delay(10)
                pool.close()
                private.close()
            }
        }
    })

/** Receives for a moment and is then cancelled. Returns false at the end. */
private suspend fun MessageChannel.receiveOrNullBriefly(
    random: Random,
    received: ConcurrentLinkedQueue<Int>,
): Boolean =
    coroutineScope {
        var more = true
        val job =
            launch {
                val message = receiveOrNull()
                if (message == null) more = false else received.add(numberOf(message))
            }
        if (random.nextInt(3) == 0) delay(1) else yield()
        job.cancelAndJoin()
        more
    }
