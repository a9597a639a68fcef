package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.types.shouldBeInstanceOf
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.RemoteMemory
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.attributes.Feature
import org.kverbs.dsl.RC
import org.kverbs.dsl.atomicWrite
import org.kverbs.dsl.flush
import org.kverbs.dsl.get
import org.kverbs.dsl.read
import org.kverbs.dsl.send
import org.kverbs.dsl.write
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.time.Duration.Companion.seconds

/** Posts a receive of the server into the memory at [offset], and cancels its caller. */
private suspend fun CoroutineScope.cancelledReceive(
    ends: TwoEnds,
    offset: Long,
) {
    val receiver =
        launch(start = CoroutineStart.UNDISPATCHED) { ends.server.qp.receive(ends.server.region[offset, 64]) }
    receiver.isActive shouldBe true
    receiver.cancelAndJoin()
    receiver.isCancelled shouldBe true
}

class AsyncQueuePairSpec :
    FunSpec({
        timeout = 60_000

        for ((name, strategy) in listOf(
            "busy" to WaitStrategy.busy(),
            "back-off" to WaitStrategy.backOff(),
            "event" to WaitStrategy.event(),
            "adaptive" to WaitStrategy.adaptive(10),
        )) {
            test("should play ping-pong by the $name strategy") {
                TwoEnds(dispatcher = { strategy(strategy) }).use { ends ->
                    coroutineScope {
                        launch {
                            repeat(200) { round ->
                                ends.server.qp
                                    .receive(ends.server.region[0, 64])
                                    .length shouldBe 4
                                ends.server.qp.send(ends.server.text("pong", 64))
                            }
                        }
                        repeat(200) {
                            val pong =
                                async(
                                    start = CoroutineStart.UNDISPATCHED,
                                ) { ends.client.qp.receive(ends.client.region[0, 64]) }
                            ends.client.qp.send(ends.client.text("ping", 64))
                            pong.await().length shouldBe 4
                            ends.client.textAt(0, 4) shouldBe "pong"
                        }
                    }
                }
            }
        }

        test("should write, read and do atomics") {
            TwoEnds().use { ends ->
                val remote = ends.server.region.remote()
                ends.client.qp.write(ends.client.text("over there"), to = remote, offset = 100)
                ends.server.textAt(100, 10) shouldBe "over there"
                ends.client.qp.read(remote, into = ends.client.region[1000, 10], offset = 100)
                ends.client.textAt(1000, 10) shouldBe "over there"
                ends.server.region.memory().set(JAVA_LONG, 0, 40)
                ends.client.qp.fetchAndAdd(remote, 2) shouldBe 40
                ends.client.qp.compareAndSwap(remote, compare = 42, swap = 7) shouldBe 42
                ends.client.qp.compareAndSwap(remote, compare = 42, swap = 8) shouldBe 7
                ends.server.region.memory().get(JAVA_LONG, 0) shouldBe 7
            }
        }

        test("should write atomically, flush, and do both in a batch") {
            TwoEnds(settings = { extended(Feature.ATOMIC_WRITE, Feature.FLUSH) }).use { ends ->
                val remote = ends.server.region.remote()
                val there = ends.server.region.memory()
                ends.client.qp.atomicWrite(42, to = remote, offset = 8)
                there.get(JAVA_LONG, 8) shouldBe 42
                ends.client.qp.write(ends.client.text("over there"), to = remote, offset = 100)
                ends.client.qp.flush(remote, offset = 100, length = 10)
                ends.client.qp.flush(remote)
                ends.client.qp.flushRegion(remote.rkey())
                ends.server.textAt(100, 10) shouldBe "over there"
                ends.client.qp.batch {
                    write(ends.client.text("again"), to = remote, offset = 200)
                    flush(remote, offset = 200, length = 5)
                    atomicWrite(200, to = remote)
                }
                there.get(JAVA_LONG, 0) shouldBe 200
                coroutineScope {
                    repeat(200) { launch { ends.client.qp.atomicWrite(it.toLong(), to = remote, offset = 8 * it) } }
                }
                List(200) { there.get(JAVA_LONG, 8L * it) } shouldBe List(200) { it.toLong() }
            }
        }

        test("should refuse atomic writes and flushes on a queue pair made without them, and go on") {
            TwoEnds().use { ends ->
                val remote = ends.server.region.remote()
                repeat(300) {
                    shouldThrow<UnsupportedVerbException> { ends.client.qp.atomicWrite(1, to = remote) }
                    shouldThrow<UnsupportedVerbException> { ends.client.qp.flush(remote) }
                    shouldThrow<UnsupportedVerbException> { ends.client.qp.batch { flush(remote) } }
                }
                ends.client.qp.fetchAndAdd(remote, 1) shouldBe 0
            }
        }

        test("should fail a flush that the peer does not permit") {
            TwoEnds(settings = { extended(Feature.FLUSH) }).use { ends ->
                val remote = ends.server.region.remote()
                val wrong = RemoteMemory(remote.address(), remote.length(), remote.rkey() xor 0x5500)
                shouldThrow<WorkCompletionException> { ends.client.qp.flush(wrong) }.opcode() shouldBe
                    WorkCompletionOpcode.FLUSH
            }
        }

        test("should deliver immediate data with a message and with a write") {
            TwoEnds().use { ends ->
                coroutineScope {
                    val received = async { List(2) { ends.server.qp.receive(ends.server.region[0, 64]) } }
                    ends.client.qp.sendWithImmediate(ends.client.text("note"), 0x1234)
                    val remote = ends.server.region.remote()
                    ends.client.qp.writeWithImmediate(
                        ends.client.text("note"),
                        to = remote,
                        immediate = -2,
                        offset = 500,
                    )
                    received.await().map { it.immediate } shouldContainExactly listOf(0x1234, -2)
                    ends.server.textAt(500, 4) shouldBe "note"
                }
            }
        }

        test("should free the memory of its atomics when it is closed, and register none afterwards") {
            fun regions() = Diagnostics.openResources().map { it.resource() }.filterIsInstance<MemoryRegion>()
            Diagnostics.enable()
            try {
                TwoEnds().use { ends ->
                    val remote = ends.server.region.remote()
                    val before = regions()
                    ends.client.qp.fetchAndAdd(remote, 1) shouldBe 0
                    (regions() - before) shouldHaveSize 1
                    ends.client.qp.close()
                    (regions() - before).shouldBeEmpty()
                    shouldThrow<IllegalStateException> { ends.client.qp.fetchAndAdd(remote, 1) }.message shouldContain
                        "was closed"
                    (regions() - before).shouldBeEmpty()
                }
                TwoEnds().use { ends ->
                    val remote = ends.server.region.remote()
                    val ended =
                        coroutineScope {
                            val counting =
                                List(
                                    64,
                                ) { async { runCatching { while (true) ends.client.qp.fetchAndAdd(remote, 1) } } }
                            ends.client.qp.read(remote, into = ends.client.region[0, 8])
                            ends.client.qp.close() // while results arrive
                            counting.awaitAll()
                        }
                    ended.forEach { it.exceptionOrNull()?.message.orEmpty() shouldContain "closed" }
                }
            } finally {
                Diagnostics.disable()
            }
        }

        test("should run a batch with one completion") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val remote = ends.server.region.remote()
                coroutineScope {
                    val batch =
                        launch(start = CoroutineStart.UNDISPATCHED) {
                            ends.client.qp.batch {
                                for (i in 0 until 100) {
                                    write(
                                        ends.client.text("%03d".format(i), i * 8L),
                                        to = remote,
                                        offset =
                                            i * 8L,
                                    )
                                }
                            }
                        }
                    var completions = 0
                    while (batch.isActive) {
                        completions += ends.client.dispatcher.poll()
                        yield()
                    }
                    completions += ends.client.dispatcher.poll()
                    completions shouldBe 1
                }
                for (i in 0 until 100) ends.server.textAt(i * 8L, 3) shouldBe "%03d".format(i)
            }
        }

        test("should suspend callers that find the send queue full, and serve all in the end") {
            TwoEnds(settings = { maxSendWr(4) }).use { ends ->
                val remote = ends.server.region.remote()
                coroutineScope {
                    repeat(1000) { i ->
                        launch { ends.client.qp.write(ends.client.region[0, 8], to = remote, offset = i * 8L) }
                    }
                    launch { ends.client.qp.batch { repeat(4) { write(ends.client.region[0, 8], to = remote) } } }
                }
                ends.client.qp.fetchAndAdd(remote, 1) shouldBe 0
            }
        }

        test("should refuse a batch that never fits into the queue") {
            TwoEnds(settings = { maxSendWr(4) }).use { ends ->
                shouldThrow<IllegalArgumentException> {
                    ends.client.qp.batch {
                        repeat(
                            5,
                        ) { write(ends.client.region[0, 8], to = ends.server.region.remote()) }
                    }
                }.message shouldContain "5 requests at once do not fit into a queue of 4"
            }
        }

        test("should keep the order of messages over cancelled receives") {
            TwoEnds().use { ends ->
                coroutineScope {
                    repeat(3) { i -> cancelledReceive(ends, i * 64L) }
                    launch {
                        for (word in listOf(
                            "one",
                            "two",
                            "tre",
                            "for",
                        )) {
                            ends.client.qp.send(ends.client.text(word))
                        }
                    }
                    val words =
                        List(4) {
                            ends.server.qp.receive(ends.server.region[1024, 64]).length shouldBe 3
                            ends.server.textAt(1024, 3)
                        }
                    words shouldContainExactly listOf("one", "two", "tre", "for")
                }
            }
        }

        test("should take over the only receive of a queue when its caller was cancelled") {
            TwoEnds(settings = { maxRecvWr(1) }).use { ends ->
                coroutineScope {
                    cancelledReceive(ends, 0)
                    val received = async { ends.server.qp.receive(ends.server.region[64, 64]) }
                    ends.client.qp.send(ends.client.text("word"))
                    received.await().length shouldBe 4
                    ends.server.textAt(64, 4) shouldBe "word"
                }
            }
        }

        test("should fail with the status, and give flushed requests the first failure as cause") {
            TwoEnds().use { ends ->
                val remote = ends.server.region.remote()
                val outcomes =
                    coroutineScope {
                        ends.server.region.close()
                        List(3) {
                            async(start = CoroutineStart.UNDISPATCHED) {
                                runCatching { ends.client.qp.write(ends.client.region[0, 8], to = remote) }
                            }
                        }.awaitAll()
                    }
                val first = outcomes[0].exceptionOrNull().shouldBeInstanceOf<WorkCompletionException>()
                first.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
                first.opcode() shouldBe WorkCompletionOpcode.RDMA_WRITE
                for (later in outcomes.drop(1)) {
                    val flushed = later.exceptionOrNull().shouldBeInstanceOf<WorkCompletionException>()
                    flushed.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                    flushed.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                        WorkCompletionStatus.REM_ACCESS_ERR
                }
            }
        }

        test("should name the failed operation of a batch, and the operations flushed after it") {
            TwoEnds().use { ends ->
                val gone = ends.server.region.remote()
                ends.server.region.close()
                val local = ends.client.region
                val failure =
                    shouldThrow<WorkCompletionException> {
                        ends.client.qp.batch {
                            write(local[0, 8], to = gone)
                            read(gone, into = local[8, 8])
                        }
                    }
                failure.opcode() shouldBe WorkCompletionOpcode.RDMA_WRITE
                failure.status() shouldBe WorkCompletionStatus.REM_ACCESS_ERR
                val later = shouldThrow<WorkCompletionException> { ends.client.qp.read(gone, into = local[8, 8]) }
                later.opcode() shouldBe WorkCompletionOpcode.RDMA_READ
                later.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                later.cause.shouldBeInstanceOf<WorkCompletionException>().status() shouldBe
                    WorkCompletionStatus.REM_ACCESS_ERR
            }
        }

        test("should send and write no bytes, with and without immediate data") {
            TwoEnds().use { ends ->
                val remote = ends.server.region.remote()
                ends.server.region.memory().fill(7)
                coroutineScope {
                    val received = List(4) { ends.server.qp.postReceive(ends.server.region[0, 64]) }
                    ends.client.qp.sendEmpty()
                    ends.client.qp.sendWithImmediate(immediate = 5)
                    ends.client.qp.writeEmpty(to = remote, offset = 65536)
                    ends.client.qp.writeWithImmediate(to = remote, immediate = 6)
                    ends.client.qp.send(ends.client.text("last"))
                    received.map { it.await() }.map { it.length to it.immediate } shouldBe
                        listOf(0L to null, 0L to 5, 0L to 6, 4L to null)
                }
                val untouched = ends.server.region.memory().asSlice(4)
                untouched.mismatch(untouched.asSlice(4)) shouldBe 65536 - 8
                shouldThrow<IndexOutOfBoundsException> {
                    ends.client.qp.writeEmpty(to = remote, offset = 65537)
                }.message shouldBe "offset 65537 is outside the remote memory of 65536 bytes"
            }
        }

        test("should throw the device's refusal, and lose no queue entry by it") {
            openUnconnected { qp, region ->
                repeat(10) { shouldThrow<WorkRequestException> { qp.send(region[0, 8]) } }
                qp.sends.credits.tryAcquire(2) shouldBe true
            }
        }

        for (what in listOf("queue pair", "dispatcher", "device")) {
            test("should end every wait when the $what is closed") {
                TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                    coroutineScope {
                        val waiting =
                            List(5) {
                                async(start = CoroutineStart.UNDISPATCHED) {
                                    runCatching { ends.server.qp.receive(ends.server.region[0, 8]) }
                                }
                            }
                        delay(20)
                        when (what) {
                            "queue pair" -> ends.server.qp.close()
                            "dispatcher" -> ends.server.dispatcher.close()
                            else -> ends.device.close()
                        }
                        waiting.awaitAll().forEach {
                            it
                                .exceptionOrNull()
                                .shouldBeInstanceOf<IllegalStateException>()
                                .message
                                .shouldNotBeNull() shouldContain "closed"
                        }
                    }
                    shouldThrow<IllegalStateException> { ends.server.qp.receive(ends.server.region[0, 8]) }
                }
            }
        }

        test("should return from a cancelled call before its request completes, which goes on") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                coroutineScope {
                    val calls =
                        listOf<suspend () -> Any>(
                            { ends.server.qp.receive(ends.server.region[0, 8]) },
                            {
                                ends.client.qp.write(
                                    ends.client.text("goes on"),
                                    to = ends.server.region.remote(),
                                    offset = 64,
                                )
                            },
                            { ends.client.qp.batch { send(ends.client.text("too")) } },
                        ).map { launch(start = CoroutineStart.UNDISPATCHED) { it() } }
                    calls.forEach { it.cancel() }
                    // nothing completes, as no thread polls
                    val returned = withTimeoutOrNull(20.seconds) { calls.joinAll() }
                    var completions = 0
                    while (completions < 3) completions += ends.client.dispatcher.poll() + ends.server.dispatcher.poll()
                    returned.shouldNotBeNull()
                }
                ends.server.textAt(64, 7) shouldBe "goes on"
                ends.server.dispatcher.run { ends.server.qp.receive(ends.server.region[0, 8]) }
                ends.server.textAt(0, 3) shouldBe "too"
            }
        }

        test("should run coroutines on the polling thread") {
            TwoEnds().use { ends ->
                val names =
                    withContext(ends.client.dispatcher.coroutineDispatcher) {
                        List(3) {
                            ends.client.qp.write(ends.client.region[0, 8], to = ends.server.region.remote())
                            Thread.currentThread().name.substringBefore(' ')
                        }
                    }
                names.toSet() shouldBe setOf("kverbs-completions-embedded0")
            }
        }

        test("should poll on the caller's thread") {
            TwoEnds(dispatcher = { callerPolls() }).use { ends ->
                val caller = Thread.currentThread()
                ends.client.dispatcher.run {
                    ends.client.qp.write(ends.client.text("mine"), to = ends.server.region.remote())
                    yield()
                    Thread.currentThread() shouldBe caller
                    "result"
                } shouldBe "result"
                ends.server.textAt(0, 4) shouldBe "mine"
                shouldThrow<ArithmeticException> { ends.client.dispatcher.run { throw ArithmeticException("mine") } }
            }
        }

        test("should create another completion queue when one is full") {
            TwoEnds(dispatcher = { queueEntries(256) }).use { ends ->
                val more = List(5) { ends.client.dispatcher.qp(ends.client.pd, RC) { maxSendWr(100) } }
                more
                    .map { it.queuePair.sendCq() }
                    .toSet()
                    .size shouldBe 5
                more.forEach { it.close() }
            }
        }
    })

private suspend fun openUnconnected(
    block: suspend (AsyncQueuePair<org.kverbs.dsl.RcVerbs>, org.kverbs.MemoryRegion) -> Unit,
) {
    org.kverbs.dsl.openDevice("embedded0").use { device ->
        val pd = device.protectionDomain()
        val qp = device.completionDispatcher().qp(pd, RC) { maxSendWr(2) }
        block(qp, pd.memoryRegion(64, org.kverbs.attributes.AccessFlag.LOCAL_WRITE))
    }
}
