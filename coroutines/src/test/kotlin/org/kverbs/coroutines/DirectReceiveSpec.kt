package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeSorted
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.selects.select
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.attributes.AccessFlag
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executors
import kotlin.random.Random

private const val LARGE = 20_000

/** Leaves large messages at their sender. */
private val AT_SENDER: MessageChannelBuilder.() -> Unit = { fetchAhead(0) }

private fun RegisteredBuffer.number(length: Long): Int = numberOf(memory.asSlice(0, length).toArray(JAVA_BYTE))

private fun TwoChannels.sources() = clientPd.bufferPool { access(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) }

/** Sends large messages with these numbers from buffers of their own; each job ends when the peer has its message. */
private suspend fun TwoChannels.senders(
    pool: BufferPool,
    numbers: IntRange,
    launch: (suspend () -> Unit) -> Job,
): List<Job> =
    numbers.map { number ->
        val buffer = pool.take(LARGE.toLong())
        buffer.write(numbered(number, LARGE))
        launch { buffer.use { client.send(it, LARGE) } }
    }

@OptIn(ExperimentalCoroutinesApi::class)
class DirectReceiveSpec :
    FunSpec({
        timeout = 120_000

        test("should leave large messages at their sender until they are received, with fetchAhead(0)") {
            TwoChannels(AT_SENDER).use { ends ->
                val pool = ends.serverPd.bufferPool()
                coroutineScope {
                    val senders = ends.senders(ends.sources(), 0..3) { launch { it() } }
                    while (ends.server.stats.waitingMessages < 4) delay(1)
                    delay(20)
                    senders.count { it.isCompleted } shouldBe 0
                    pool.take(LARGE.toLong()).use { into ->
                        for (number in 0..3) {
                            ends.server.receive(into) shouldBe LARGE
                            into.number(LARGE.toLong()) shouldBe number
                            senders[number].join()
                        }
                    }
                }
            }
        }

        test("should return null in place of a message once the peer has finished, and throw if it closed") {
            for (isFinished in listOf(true, false)) {
                TwoChannels(AT_SENDER).use { ends ->
                    ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                        ends.client.send(ByteArray(3))
                        if (isFinished) ends.client.finish() else ends.client.close()
                        ends.server.receiveOrNull(into) shouldBe 3L
                        if (isFinished) {
                            ends.server.receiveOrNull(into) shouldBe null
                            shouldThrow<ChannelClosedException> { ends.server.receive(into) }
                        } else {
                            shouldThrow<ChannelClosedException> { ends.server.receiveOrNull(into) }
                        }
                    }
                }
            }
        }

        test("should register no memory for messages that are received into buffers, with fetchAhead(0)") {
            diagnosed {
                TwoChannels(AT_SENDER).use { ends ->
                    fun regions() =
                        Diagnostics
                            .openResources()
                            .map { it.resource() }
                            .filterIsInstance<MemoryRegion>()
                            .filter { it.protectionDomain() === ends.serverPd }
                    ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                        val before = regions()
                        repeat(10) {
                            ends.client.send(numbered(it, LARGE))
                            ends.server.receive(into)
                            into.number(LARGE.toLong()) shouldBe it
                        }
                        regions() shouldHaveSize before.size
                        ends.client.send(numbered(11, LARGE))
                        numberOf(ends.server.receive()) shouldBe 11 // needs memory: what the check above sees
                        regions() shouldHaveSize before.size + 1
                    }
                }
            }
        }

        for (ahead in listOf(0L, 1_000_000L)) {
            test("should read into the buffer of a receiver that waits, with fetchAhead($ahead)") {
                TwoChannels({ fetchAhead(ahead) }).use { ends ->
                    ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                        coroutineScope {
                            val receiver = launch(start = CoroutineStart.UNDISPATCHED) { ends.server.receive(into) }
                            ends.client.send(numbered(5, LARGE))
                            receiver.join()
                            into.number(LARGE.toLong()) shouldBe 5
                            ends.server.stats.waitingMessages shouldBe 0
                        }
                    }
                    ends.client.send(numbered(6, 10))
                    numberOf(ends.server.receive()) shouldBe 6
                }
            }

            test("should give a message to every kind of receiver, with fetchAhead($ahead)") {
                TwoChannels({ fetchAhead(ahead) }).use { ends ->
                    var number = 0

                    suspend fun next() = ends.client.send(numbered(++number, LARGE))
                    next()
                    numberOf(ends.server.receive()) shouldBe number
                    next()
                    var tried = ends.server.incoming.tryReceive()
                    while (!tried.isSuccess) {
                        delay(1)
                        tried = ends.server.incoming.tryReceive()
                    }
                    numberOf(tried.getOrThrow()) shouldBe number
                    next()
                    numberOf(select { ends.server.incoming.onReceive { it } }) shouldBe number
                    coroutineScope {
                        val selected =
                            launch(start = CoroutineStart.UNDISPATCHED) {
                                numberOf(select { ends.server.incoming.onReceive { it } }) shouldBe number
                            }
                        next()
                        selected.join()
                    }
                    next()
                    ends.client.send(numbered(++number, 8))
                    ends.client.send(numbered(++number, LARGE + 1))
                    val rest = ArrayList<Int>()
                    coroutineScope {
                        launch { ends.client.finish() }
                        for (message in ends.server.incoming) rest.add(numberOf(message))
                    }
                    rest shouldBe listOf(number - 2, number - 1, number)
                }
            }

            test("should leave the message for the next receive if the buffer is too small, with fetchAhead($ahead)") {
                TwoChannels({ fetchAhead(ahead) }).use { ends ->
                    val pool = ends.serverPd.bufferPool()
                    pool.take(1000).use { small ->
                        coroutineScope {
                            val early =
                                launch(start = CoroutineStart.UNDISPATCHED) {
                                    shouldThrow<IllegalArgumentException> { ends.server.receive(small) }
                                }
                            ends.client.send(numbered(3, LARGE))
                            early.join()
                        }
                        while (ends.server.stats.waitingMessages < 1) delay(1)
                        shouldThrow<IllegalArgumentException> { ends.server.receive(small) }
                    }
                    numberOf(ends.server.receive()) shouldBe 3
                }
            }
        }

        test("should copy into buffers that the channel's device cannot write to") {
            TwoChannels(AT_SENDER).use { ends ->
                ends.clientPd.bufferPool().take(LARGE.toLong()).use { foreign ->
                    ends.client.send(numbered(1, LARGE))
                    ends.server.receive(foreign) shouldBe LARGE
                    foreign.number(LARGE.toLong()) shouldBe 1
                }
                ends.serverPd.bufferPool { access(AccessFlag.REMOTE_READ) }.take(LARGE.toLong()).use { unwritable ->
                    ends.client.send(numbered(2, LARGE))
                    ends.server.receive(unwritable) shouldBe LARGE
                    unwritable.number(LARGE.toLong()) shouldBe 2
                }
            }
        }

        test("should refuse a closed buffer, and keep the message and the channel") {
            TwoChannels(AT_SENDER).use { ends ->
                val closed = ends.serverPd.bufferPool().take(LARGE.toLong())
                coroutineScope {
                    val waiting =
                        launch(start = CoroutineStart.UNDISPATCHED) {
                            shouldThrow<IllegalStateException> { ends.server.receive(closed) }
                        }
                    closed.close()
                    ends.client.send(numbered(1, LARGE))
                    waiting.join()
                }
                shouldThrow<IllegalStateException> { ends.server.receive(closed) }
                numberOf(ends.server.receive()) shouldBe 1
            }
        }

        test("should release the sender of messages that are dropped") {
            TwoChannels(AT_SENDER).use { ends ->
                coroutineScope {
                    val senders = ends.senders(ends.sources(), 0..3) { launch { it() } }
                    while (ends.server.stats.waitingMessages < 4) delay(1)
                    ends.server.incoming.cancel()
                    senders.joinAll()
                    repeat(20) { ends.client.send(numbered(it, LARGE)) }
                    ends.client.finish()
                }
            }
        }

        test("should end a receiver that reads when the channel ends") {
            repeat(20) {
                TwoChannels(AT_SENDER).use { ends ->
                    ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                        withContext(Dispatchers.Default) {
                            val receiver =
                                launch {
                                    val end = runCatching { while (true) ends.server.receive(into) }
                                    end.exceptionOrNull().shouldBeInstanceOf<ChannelClosedException>()
                                }
                            val sender = launch { runCatching { while (true) ends.client.send(ByteArray(LARGE)) } }
                            delay(5)
                            if (it % 2 == 0) ends.client.close() else ends.server.close()
                            receiver.join()
                            sender.join()
                        }
                    }
                }
            }
        }

        for (ahead in listOf(0L, 30_000L, 1_000_000L)) {
            test("should lose, repeat and reorder nothing when receivers with buffers are cancelled, ahead $ahead") {
                for (seed in 1..10) {
                    withClue("seed $seed") {
                        TwoChannels({
                            fetchAhead(ahead)
                            receiveSlots(4)
                            slotSize(256)
                        }).use { ends -> ends.receiveWhatIsCancelled(Random(seed)) }
                    }
                }
            }
        }

        test("should fetch a message that was put back although later ones hold all bytes of fetchAhead") {
            TwoChannels({ fetchAhead(LARGE.toLong()) }).use { ends ->
                ends.serverPd.bufferPool().take(LARGE.toLong()).use { into ->
                    Executors.newSingleThreadExecutor().use { thread ->
                        val reader =
                            launch(thread.asCoroutineDispatcher(), CoroutineStart.UNDISPATCHED) {
                                ends.server.receive(into)
                            }
                        val mayRun = CountDownLatch(1)
                        thread.execute { mayRun.await() }
                        repeat(2) { ends.client.send(numbered(it, LARGE)) }
                        // The receiver is given the first message, and the second one is fetched.
                        while (ends.server.incoming.isEmpty) delay(1)
                        reader.cancel()
                        mayRun.countDown()
                        reader.join()
                    }
                    withTimeout(30_000) { repeat(2) { numberOf(ends.server.receive()) shouldBe it } }
                }
            }
        }

        test("should give each message to one of several receivers with and without buffers") {
            for (ahead in listOf(0L, 30_000L)) {
                TwoChannels({ fetchAhead(ahead) }).use { ends -> ends.receiveByMany() }
            }
        }
    })

private const val MESSAGES = 300

/** Sends numbered messages; one receiver at a time takes them, and is cancelled at any moment. */
private suspend fun TwoChannels.receiveWhatIsCancelled(random: Random) {
    val pool = serverPd.bufferPool()
    val received = ArrayList<Int>()
    withContext(Dispatchers.Default) {
        launch {
            val lengths = Random(random.nextLong())
            repeat(MESSAGES) { client.send(numbered(it, if (lengths.nextInt(4) == 0) 20 else LARGE)) }
            client.finish()
        }
        var isOver = false
        while (!isOver) {
            val receiver =
                launch {
                    try {
                        val number =
                            if (random.nextInt(4) == 0) {
                                numberOf(server.receive())
                            } else {
                                pool.take(LARGE.toLong()).use { it.number(server.receive(it)) }
                            }
                        received.add(number)
                    } catch (_: ChannelClosedException) {
                        isOver = true
                    }
                }
            repeat(random.nextInt(4)) { yield() }
            if (random.nextBoolean()) receiver.cancelAndJoin() else receiver.join()
        }
    }
    received.shouldBeSorted()
    received shouldBe List(MESSAGES) { it }
}

private suspend fun TwoChannels.receiveByMany() {
    val pool = serverPd.bufferPool()
    val received = ArrayList<Int>()
    withContext(Dispatchers.Default) {
        launch {
            repeat(MESSAGES) { client.send(numbered(it, if (it % 5 == 0) 20 else LARGE)) }
            client.finish()
        }
        List(6) { index ->
            launch {
                val random = Random(index)
                while (true) {
                    val number =
                        withTimeoutOrNull(random.nextLong(1, 4)) {
                            if (index % 3 == 0) {
                                server.receiveOrNull()?.let { numberOf(it) } ?: -1
                            } else {
                                runCatching { pool.take(LARGE.toLong()).use { it.number(server.receive(it)) } }
                                    .recover { if (it is ChannelClosedException) -1 else throw it }
                                    .getOrThrow()
                            }.also { if (it >= 0) synchronized(received) { received.add(it) } }
                        }
                    if (number == -1) break
                }
            }
        }.joinAll()
    }
    received.sorted() shouldBe List(MESSAGES) { it }
}
