package org.kverbs.coroutines

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineStart.LAZY
import kotlinx.coroutines.CoroutineStart.UNDISPATCHED
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.launch
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.coroutines.yield
import org.kverbs.attributes.AccessFlag
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RC
import org.kverbs.dsl.get
import org.kverbs.dsl.memoryRegion
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.invoke.VarHandle
import java.util.concurrent.FutureTask
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference
import kotlin.concurrent.thread
import kotlin.random.Random
import kotlin.time.Duration.Companion.seconds

private const val ROUNDS = 30_000
private const val SPINS = 200
private val LONG = 8.MiB

class PostedReceiveSpec :
    FunSpec({
        timeout = 60_000

        test("should take a message before a caller awaits it") {
            TwoEnds().use { ends ->
                val posted = ends.server.qp.postReceive(ends.server.region[0, 64])
                posted.isCompleted shouldBe false
                ends.client.qp.send(ends.client.text("early"))
                posted.await().length shouldBe 5
                ends.server.textAt(0, 5) shouldBe "early"
            }
        }

        test("should take messages in the order of posting, before those of a later suspended caller") {
            TwoEnds().use { ends ->
                val posted = List(3) { ends.server.qp.postReceive(ends.server.region[it * 64L, 64]) }
                coroutineScope {
                    launch {
                        for (word in listOf(
                            "a",
                            "bb",
                            "ccc",
                            "dddd",
                        )) {
                            ends.client.qp.send(ends.client.text(word))
                        }
                    }
                    val last = ends.server.qp.receive(ends.server.region[3 * 64L, 64])
                    posted.map { it.await().length } + last.length shouldContainExactly listOf(1L, 2L, 3L, 4L)
                }
            }
        }

        test("should be posted if the last entry of the queue went to a receive that is cancelled by now") {
            TwoEnds().use { ends ->
                val dispatcher = ends.server.dispatcher
                lateinit var side: ReceiveSide
                val asked = FutureTask { side.post(ends.server.region[0, 64], null) }
                val second = Thread(asked)
                lateinit var first: Job
                side =
                    ReceiveSide(dispatcher, dispatcher.reserve(1), 1, Failures(), ends.server.pd) { _, _ ->
                        // The first receive has the only entry, and the second one waits for the lock.
                        second.start()
                        val parked = setOf(Thread.State.WAITING, Thread.State.TIMED_WAITING)
                        while (second.state !in parked) Thread.sleep(1)
                        first.cancel()
                    }
                coroutineScope {
                    first = launch(start = LAZY) { side.await(ends.server.region[64, 64], null) }
                    first.join()
                }
                asked.get().isActive shouldBe true
                side.end(IllegalStateException("closed"))
            }
        }

        test("should be posted if the requests of cancelled receives are enough for it and a receive that waits") {
            TwoEnds(settings = { maxRecvWr(4) }).use { ends ->
                coroutineScope {
                    val receives =
                        List(4) {
                            async(start = UNDISPATCHED) { ends.server.qp.receive(ends.server.region[it * 64L, 64]) }
                        }
                    receives.drop(1).forEach { it.cancelAndJoin() }
                    // It waits for an entry: the queue is full, and the cancelled receives are still listed.
                    val waiting = async(start = UNDISPATCHED) { ends.server.qp.receive(ends.server.region[64, 64]) }
                    val posted = ends.server.qp.postReceive(ends.server.region[128, 64])
                    for (word in listOf("a", "bb", "ccc")) ends.client.qp.send(ends.client.text(word))
                    listOf(receives[0].await(), waiting.await(), posted.await()).map { it.length } shouldContainExactly
                        listOf(1L, 2L, 3L)
                }
            }
        }

        test("should leave the message of a cancelled receive to the next one, posted or awaited") {
            TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                List(2) { ends.server.qp.postReceive(ends.server.region[it * 64L, 64]) }.forEach { it.cancel() }
                val posted = ends.server.qp.postReceive(ends.server.region[128, 64])
                ends.client.qp.send(ends.client.text("one"))
                ends.client.qp.send(ends.client.text("four"))
                posted.await().length shouldBe 3
                ends.server.textAt(128, 3) shouldBe "one"
                ends.server.qp.receive(ends.server.region[192, 64]).length shouldBe 4
                ends.server.textAt(192, 4) shouldBe "four"
            }
        }

        test(
            "should be posted while the queue has free entries, although other receives were cancelled behind a " +
                "waiting one",
        ) {
            TwoEnds(settings = { maxRecvWr(4) }).use { ends ->
                coroutineScope {
                    val first = async(start = UNDISPATCHED) { ends.server.qp.receive(ends.server.region[0, 64]) }
                    repeat(6) {
                        launch(
                            start = UNDISPATCHED,
                        ) { ends.server.qp.receive(ends.server.region[64, 64]) }.cancelAndJoin()
                    }
                    val posted = ends.server.qp.postReceive(ends.server.region[128, 64])
                    for (word in listOf("one", "four")) ends.client.qp.send(ends.client.text(word))
                    first.await().length shouldBe 3
                    posted.await().length shouldBe 4
                    ends.server.textAt(128, 4) shouldBe "four"
                }
            }
        }

        test("should take the message of an earlier cancelled receive") {
            TwoEnds().use { ends ->
                val (cancelled, next) = List(2) { ends.server.qp.postReceive(ends.server.region[it * 64L, 64]) }
                cancelled.cancel()
                for (word in listOf("left", "taken")) ends.client.qp.send(ends.client.text(word))
                next.await().length shouldBe 5 // so the other message has arrived, too
                ends.server.qp.postReceive(ends.server.region[128, 64]).await().length shouldBe 4
                ends.server.textAt(128, 4) shouldBe "left"
            }
        }

        test("should leave its message to the next receive if it is cancelled after it was given the message") {
            for (joins in listOf(false, true)) {
                TwoEnds().use { ends ->
                    if (joins) ends.server.qp.postReceive(ends.server.region[0, 64]).cancel()
                    val (posted, next) = List(2) { ends.server.qp.postReceive(ends.server.region[(it + 1) * 64L, 64]) }
                    Job(posted) // a child: while it runs, the receive has its message and is not complete
                    for (word in listOf("left", "taken")) ends.client.qp.send(ends.client.text(word))
                    next.await().length shouldBe 5 // so the first message was given, too
                    posted.cancel()
                    shouldThrow<CancellationException> { posted.await() }
                    withTimeoutOrNull(10_000) { ends.server.qp.receive(ends.server.region[256, 64]) }?.length shouldBe 4
                    ends.server.textAt(256, 4) shouldBe "left"
                }
            }
        }

        test("should have its message or leave it to the next receive, whoever comes first: message or cancellation") {
            TwoEnds().use { ends ->
                val requests = ArrayDeque<Long>()
                val dispatcher = ends.server.dispatcher
                val side =
                    ReceiveSide(dispatcher, dispatcher.reserve(2), 2, Failures(), ends.server.pd) { id, _ ->
                        requests.addLast(id)
                    }
                val cancelled = AtomicReference<Deferred<*>>()
                // Both threads spin, because the moment in question is short. They do as many rounds as the time
                // allows: with more threads than processors, a round takes a slice of the scheduler's time.
                val cancels = AtomicInteger()
                val rounds = AtomicInteger()
                val end = System.nanoTime() + 10.seconds.inWholeNanoseconds
                val isOver = AtomicBoolean()
                val cancelling =
                    thread(isDaemon = true) {
                        for (round in 0 until ROUNDS) {
                            while (rounds.get() <= round && !isOver.get()) Thread.onSpinWait()
                            if (isOver.get()) break
                            repeat(Random.nextInt(SPINS)) { Thread.onSpinWait() }
                            try {
                                cancelled.get().cancel()
                            } finally {
                                cancels.incrementAndGet()
                            }
                        }
                    }
                var lost = 0
                for (round in 0 until ROUNDS) {
                    if (System.nanoTime() > end) break
                    val receive = side.post(ends.server.region[0, 64], null)
                    cancelled.set(receive)
                    rounds.incrementAndGet()
                    side.complete(requests.removeFirst().toInt(), Completions.all[0])
                    while (cancels.get() <= round) Thread.onSpinWait()
                    if (receive.isCancelled) {
                        val next = side.post(ends.server.region[64, 64], null)
                        if (!next.isCompleted) {
                            lost++
                            side.complete(requests.removeFirst().toInt(), Completions.all[1])
                        }
                    }
                }
                isOver.set(true)
                cancelling.join()
                side.end(IllegalStateException("closed"))
                lost shouldBe 0
            }
        }

        test("should not write into its buffer any more when the buffer has a new owner") {
            TwoEnds().use { ends ->
                val pool =
                    ends.server.pd.bufferPool {
                        maxBytes(4 * LONG)
                        slabSize(LONG)
                        maxBufferSize(LONG)
                    }
                val message = ends.client.pd.memoryRegion(LONG, AccessFlag.LOCAL_WRITE)
                message.memory().fill(1)
                repeat(20) {
                    val first = pool.take(LONG)
                    ends.server.qp.postReceive(first).cancel()
                    val buffer = pool.take(LONG)
                    buffer.memory.fill(0)
                    val joined = ends.server.qp.postReceive(buffer)
                    coroutineScope {
                        launch { ends.client.qp.send(message.slice()) }
                        val memory = buffer.memory
                        withContext(Dispatchers.IO) {
                            while (memory.get(JAVA_BYTE, 0) == 0.toByte()) {
                                ensureActive()
                                VarHandle.acquireFence()
                            }
                        }
                        // Its copy has begun.
                        joined.cancel()
                        buffer.close()
                        pool.take(LONG).use { next ->
                            val before = next.memory.get(JAVA_BYTE, LONG - 1)
                            joined.join()
                            if (joined.isCancelled) ends.server.qp.receive(first).length shouldBe LONG
                            next.memory.get(JAVA_BYTE, LONG - 1) shouldBe before
                        }
                    }
                    first.close()
                    withTimeout(30.seconds) { while (pool.taken != 0) yield() }
                }
            }
        }

        test("should keep a buffer until the receive and a copy into it have ended") {
            val pin = Pin()
            val slots = ReceiveSlots(1, Failures(), ReceiveStage { error("nothing is copied") })
            val receive = PostedReceive(Completions.memory, pin, slots)
            pin.pin()
            receive.tryUse() shouldBe true
            receive.release()
            pin.held shouldBe 1
            receive.release()
            pin.held shouldBe 0
            receive.tryUse() shouldBe false
        }

        test("should stay posted when the caller that awaits it gives up") {
            TwoEnds().use { ends ->
                val posted = ends.server.qp.postReceive(ends.server.region[0, 64])
                withTimeoutOrNull(20) { posted.await() } shouldBe null
                ends.client.qp.send(ends.client.text("late"))
                posted.await().length shouldBe 4
            }
        }

        test("should refuse one more receive than the queue holds, and take one again when a message has arrived") {
            TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                val posted = List(2) { ends.server.qp.postReceive(ends.server.region[0, 64]) }
                shouldThrow<IllegalStateException> {
                    ends.server.qp.postReceive(
                        ends.server.region[0, 64],
                    )
                }.message shouldContain
                    "all 2 receives of this queue are posted"
                ends.client.qp.send(ends.client.text("room"))
                posted[0].await()
                ends.server.qp.postReceive(ends.server.region[0, 64])
            }
        }

        test("should keep a pooled buffer until its message has arrived") {
            TwoEnds().use { ends ->
                ends.server.pd.bufferPool().use { pool ->
                    val buffer = pool.tryTake(64).shouldNotBeNull()
                    val posted = ends.server.qp.postReceive(buffer)
                    buffer.close()
                    pool.taken shouldBe 1
                    ends.client.qp.send(ends.client.text("pinned"))
                    posted.await().length shouldBe 6
                    while (pool.taken != 0) yield()
                }
            }
        }

        test("should refuse a receive on a queue pair created without receives") {
            TwoEnds(settings = { maxRecvWr(0) }).use { ends ->
                shouldThrow<IllegalStateException> {
                    ends.server.qp.postReceive(
                        ends.server.region[0, 64],
                    )
                }.message shouldContain
                    "maxRecvWr(0)"
            }
        }

        test("should be posted on a shared queue, and take the message of either of its queue pairs") {
            TwoEnds().use { ends ->
                ends.server.dispatcher.srq(ends.server.pd) { maxWr(2) }.use { srq ->
                    val pairs =
                        List(2) {
                            val client = ends.client.dispatcher.qp(ends.client.pd, RC)
                            val server = ends.server.dispatcher.qp(ends.server.pd, RC, srq)
                            client.connect(server.endpoint())
                            server.connect(client.endpoint())
                            client to server
                        }
                    val posted = List(2) { srq.postReceive(ends.server.region[it * 64L, 64]) }
                    shouldThrow<IllegalStateException> {
                        srq.postReceive(
                            ends.server.region[128, 64],
                        )
                    }.message shouldContain
                        "all 2 receives"
                    pairs.forEachIndexed { i, (client, _) -> client.send(ends.client.text("from $i")) }
                    posted.map { it.await().queuePairNumber } shouldContainExactly
                        pairs.map { (_, server) -> server.queuePair.number() }
                    ends.server.textAt(64, 6) shouldBe "from 1"
                    pairs.forEach { (_, server) -> server.close() }
                }
            }
        }

        test("should fail with the reason when the queue pair is closed, unless it was cancelled before") {
            TwoEnds(settings = { maxRecvWr(2) }).use { ends ->
                val (posted, cancelled) = List(2) { ends.server.qp.postReceive(ends.server.region[0, 64]) }
                cancelled.cancel()
                ends.server.qp.close()
                shouldThrow<IllegalStateException> { posted.await() }.message shouldContain "was closed"
                shouldThrow<CancellationException> { cancelled.await() }
                shouldThrow<IllegalStateException> {
                    ends.server.qp.postReceive(
                        ends.server.region[0, 64],
                    )
                }.message shouldContain
                    "was closed"
            }
        }
    })
