package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.comparables.shouldBeGreaterThanOrEqualTo
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import io.kotest.matchers.types.shouldBeInstanceOf
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.attributes.QueuePairType
import org.kverbs.internal.inThreads
import java.io.File
import java.io.FileInputStream
import java.lang.foreign.Arena
import java.lang.foreign.FunctionDescriptor
import java.lang.foreign.Linker
import java.lang.foreign.MemoryLayout
import java.lang.foreign.ValueLayout.ADDRESS
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.time.Duration
import java.time.temporal.ChronoUnit
import java.util.concurrent.CompletableFuture
import java.util.concurrent.CountDownLatch
import java.util.concurrent.ExecutionException
import kotlin.concurrent.thread

/** Tests which resources a close ends, and when: the promises of [Resource]. */
class ResourceTreeSpec :
    FunSpec({
        onNullDevice()

        test("should close what was made from a context, newest first, and then the context") {
            val bench = NullBench()
            val srq = bench.sharedReceiveQueue()
            val mw = bench.pd.memoryWindow(MemoryWindowType.TYPE_2)
            val qp = bench.queuePair()
            val ah = bench.addressHandle()
            val oldestFirst =
                listOf(bench.pd, bench.channel, bench.cq, bench.mr, srq, mw, qp, ah)
            bench.context.close()

            oldestFirst.map { it.isOpen } shouldBe oldestFirst.map { false }
            bench.context.isOpen shouldBe false
            NullVerbs.destroyed().dropLast(1) shouldContainExactly
                listOf(
                    ah.handle(),
                    qp.handle(),
                    mw.handle(),
                    srq.handle(),
                    bench.mr.handle(),
                    bench.cq.handle(),
                    bench.channel.handle(),
                    bench.pd.handle(),
                )
        }

        test("should close a region after the queue pairs that may have it posted, whichever was made first") {
            val bench = NullBench()
            val qp = bench.queuePair()
            val late = bench.pd.memoryRegion(64)
            val mw = bench.pd.memoryWindow(MemoryWindowType.TYPE_2)
            bench.context.close()
            NullVerbs.destroyed().take(4) shouldContainExactly
                listOf(mw.handle(), qp.handle(), late.handle(), bench.mr.handle())
        }

        test("should run every action of a close, and know it closed, although one fails") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                val ran = mutableListOf<Int>()
                qp.whenClosed { throw IllegalStateException("first") }
                qp.whenClosed { ran += 2 }
                qp.whenClosed { throw IllegalStateException("third") }
                Diagnostics.enable()
                try {
                    val region = bench.pd.memoryRegion(64)
                    region.whenClosed { throw IllegalStateException("a region's") }
                    shouldThrow<IllegalStateException> { region.close() }
                    Diagnostics.openResources().map { it.resource().describe() } shouldBe emptyList()
                } finally {
                    Diagnostics.disable()
                }
                val failure = shouldThrow<IllegalStateException> { qp.close() }
                failure.message shouldBe "first"
                failure.suppressed.map { it.message } shouldBe listOf("third")
                ran shouldBe listOf(2)
            }
        }

        test("should run an action before the object is destroyed, once, and destroy it although the action fails") {
            NullBench().use { bench ->
                val region = bench.pd.memoryRegion(64)
                val ran = mutableListOf<Boolean>()
                region.beforeClosed { ran += region.handle() in NullVerbs.destroyed() }
                region.beforeClosed { throw IllegalStateException("planted") }
                shouldThrow<IllegalStateException> { region.close() }.message shouldBe "planted"
                ran shouldBe listOf(false)
                (region.handle() in NullVerbs.destroyed()) shouldBe true
                region.close()
                region.beforeClosed { ran += true }
                ran shouldBe listOf(false, true)
            }
        }

        test("should wait for as long as a duration can be") {
            NullBench().use { bench ->
                val forever = ChronoUnit.FOREVER.duration
                bench.channel.wakeup()
                bench.channel.awaitEvent(forever) shouldBe null
                NullVerbs.complete(bench.cq, listOf(1L))
                bench.cq.await(1, forever).single().workRequestId() shouldBe 1
                val closing =
                    thread {
                        Thread.sleep(100)
                        bench.context.close()
                    }
                shouldThrow<IllegalStateException> { bench.context.awaitAsyncEvent(forever) }.message shouldContain
                    "is closed"
                closing.join()
            }
        }

        test("should close with a resource what was made from it, and nothing else") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                bench.cq.close()
                qp.isOpen shouldBe false
                bench.mr.isOpen shouldBe true
                bench.channel.isOpen shouldBe true
                NullVerbs.live(NullVerbs.Kind.QP) shouldBe 0
                NullVerbs.live(NullVerbs.Kind.MR) shouldBe 1
            }
        }

        test("should destroy each object once, by whichever thread it is closed, how often and at what time") {
            repeat(200) {
                NullVerbs.reset()
                val bench = NullBench()
                val all = listOf(bench.queuePair(), bench.cq, bench.channel, bench.mr, bench.pd, bench.context)
                inThreads(6) { number -> repeat(all.size) { all[(it + number) % all.size].close() } }
                all.forEach { it.close() }
                NullVerbs.destroyed().size shouldBe all.size
                NullVerbs.live() shouldBe emptyMap()
            }
        }

        test("should either make a child or refuse, while its parents are being closed") {
            repeat(300) { round ->
                val bench = NullBench()
                inThreads(3) { number ->
                    if (number == 0) {
                        Thread.sleep(0, round * 300)
                        if (round % 2 == 0) bench.context.close() else bench.cq.close()
                    } else {
                        runCatching { repeat(1_000) { bench.queuePair() } }.onFailure {
                            withClue(it) { it::class shouldBe IllegalStateException::class }
                        }
                    }
                }
                bench.close()
                NullVerbs.live() shouldBe emptyMap()
            }
        }

        test("should throw the first failure of a close, keep the others with it, and close at the next try") {
            val bench = NullBench()
            bench.pd.memoryRegion(64)
            NullVerbs.set(NullVerbs.Option.KEEP_ERRNO, 16)
            NullVerbs.set(NullVerbs.Option.KEEP_KIND, NullVerbs.Kind.MR.ordinal)

            val failure = shouldThrow<RdmaSystemException> { bench.context.close() }
            failure.message shouldStartWith "ibv_dereg_mr(memory region of 64 bytes on null0) failed: EBUSY"
            failure.suppressed.map { it.message!!.substringBefore(' ') } shouldContainExactly
                listOf("ibv_dereg_mr(memory", "ibv_dealloc_pd(null0)", "ibv_close_device(null0)")
            NullVerbs.live() shouldBe mapOf(NullVerbs.Kind.CONTEXT to 1, NullVerbs.Kind.PD to 1, NullVerbs.Kind.MR to 2)
            shouldThrow<IllegalStateException> { bench.pd.memoryRegion(64) }

            NullVerbs.reset()
            bench.context.close()
        }

        test("should name the closed object at each use after its close, and with diagnostics the place of the close") {
            val bench = NullBench()
            val srq = bench.sharedReceiveQueue()
            val qp = bench.queuePair()
            val ah = bench.addressHandle()
            val mw = bench.pd.memoryWindow(MemoryWindowType.TYPE_2)
            val slice = bench.mr.slice()
            val list = SendRequests().send(1).to(ah, 2, 3)
            bench.context.close()

            val uses =
                mapOf<String, () -> Any?>(
                    "queue pair ${qp.number()} (RC) on null0" to { qp.post(SendRequests().send(1)) },
                    "queue pair ${qp.number()} (RC) on null0 " to { qp.postReceive(1, slice) },
                    "queue pair ${qp.number()} (RC) on null0  " to { Lent(qp) },
                    "queue pair ${qp.number()} (RC) on null0   " to { qp.query() },
                    "completion queue on null0" to { bench.cq.poll(WorkCompletions(1)) },
                    "completion queue on null0 " to { bench.cq.poll({ }, 1) },
                    "completion queue on null0  " to { bench.cq.arm() },
                    "completion channel on null0" to { bench.channel.awaitEvent(Duration.ZERO) },
                    "completion channel on null0 " to { bench.channel.fd() },
                    "shared receive queue on null0" to { srq.postReceive(1, slice) },
                    "memory region of 4096 bytes on null0" to { bench.mr.memory() },
                    "memory region of 4096 bytes on null0 " to { bench.mr.rkey() },
                    "memory window (TYPE_2) on null0" to { mw.rkey() },
                    "protection domain on null0" to { bench.pd.memoryRegion(1) },
                    "device null0" to { bench.context.queryDevice() },
                )
            uses.forEach { (name, use) ->
                val refusal = shouldThrow<IllegalStateException> { use() }
                refusal.message shouldBe "${name.trim()} is closed (set -Dkverbs.diagnostics=true to see where)"
                refusal.cause.shouldBeNull()
            }
            NullBench().use { other ->
                shouldThrow<IllegalStateException> {
                    other
                        .queuePair(
                            QueuePairType.UD,
                        ).post(list)
                }.message shouldStartWith
                    "address handle on null0 is closed"
            }

            Diagnostics.enable()
            try {
                val seen = NullBench()
                Diagnostics.openResources().map { it.resource() }.toSet() shouldBe
                    setOf(seen.context, seen.pd, seen.channel, seen.cq, seen.mr)
                closeHere(seen)
                Diagnostics.openResources() shouldBe emptyList()
                val refusal = shouldThrow<IllegalStateException> { seen.cq.poll(WorkCompletions(1)) }
                refusal.message shouldBe "completion queue on null0 is closed"
                refusal.cause!!.message shouldContain "closed here by "
                refusal.cause!!.stackTraceToString() shouldContain "closeHere"
            } finally {
                Diagnostics.disable()
            }
        }

        test(
            "should end the wait of a thread that is inside, and not that of one on a new channel at the old address",
        ) {
            NullBench().use { bench ->
                val old = bench.context.completionChannel()
                val inside = CountDownLatch(1)
                var end: Throwable? = null
                val waiter =
                    thread {
                        inside.countDown()
                        end = runCatching { old.awaitEvent(Duration.ofMinutes(1)) }.exceptionOrNull()
                    }
                inside.await()
                Thread.sleep(20)
                old.close()
                waiter.join()
                end!!.message shouldStartWith "completion channel on null0 is closed"

                val new = bench.context.completionChannel()
                new.handle() shouldBe old.handle()
                old.close()
                val start = System.nanoTime()
                new.awaitEvent(Duration.ofMillis(60)).shouldBeNull()
                System.nanoTime() - start shouldBeGreaterThanOrEqualTo 60_000_000
            }
        }

        test(
            "should keep the descriptors of channels apart that threads open and close at once, at each other's " +
                "addresses",
        ) {
            NullBench().use { bench ->
                val before = openDescriptors()
                inThreads(3) {
                    repeat(3_000) {
                        val channel = bench.context.completionChannel()
                        channel.awaitEvent(Duration.ZERO).shouldBeNull()
                        channel.close()
                    }
                }
                openDescriptors() shouldBe before
            }
        }

        test("should close from inside a block that writes a post, which then fails") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                val refusal =
                    shouldThrow<IllegalStateException> {
                        qp.postWith { list ->
                            list.send(1)
                            qp.post(SendRequests().send(2))
                            qp.close()
                        }
                    }
                refusal.message shouldContain "is closed"
                qp.isOpen shouldBe false
            }
        }

        test("should close at once while another thread is writing a post, which then fails") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                val writes = CountDownLatch(1)
                val closed = CountDownLatch(1)
                val writer =
                    CompletableFuture.runAsync {
                        qp.postWith { list ->
                            list.send(1)
                            writes.countDown()
                            closed.await()
                        }
                    }
                writes.await()
                qp.close() // would wait for ever if it waited for the writer
                closed.countDown()
                val refusal = shouldThrow<ExecutionException> { writer.get() }.cause
                refusal.shouldBeInstanceOf<IllegalStateException>().message shouldContain "is closed"
            }
        }

        test("should close though a thread has never finished what it began to post, and post beside it") {
            NullBench().use { bench ->
                NullVerbs.set(NullVerbs.Option.COMPLETE, 1)
                val qp = bench.queuePair()
                inThreads(1) { Lent(qp).list.send(1) }
                qp.postWith { it.send(2).signaled() }
                bench.cq.poll({ it.workRequestId() shouldBe 2L }, 16) shouldBe 1
                qp.close()
            }
        }

        test("should lend each of two threads a list of its own") {
            NullBench().use { bench ->
                NullVerbs.set(NullVerbs.Option.COMPLETE, 1)
                val qp = bench.queuePair()
                val first = Lent(qp)
                val second = Lent(qp)
                first.list.send(1).signaled()
                second.list.send(2).signaled()
                second.finish()
                first.abandon()
                bench.cq.poll({ it.workRequestId() shouldBe 2L }, 16) shouldBe 1
                Lent(qp).list.size() shouldBe 0
            }
        }

        test(
            "should deregister a region once, though its memory could not be freed because a native call was using it",
        ) {
            NullBench().use { bench ->
                val region = bench.pd.memoryRegion(MORE_THAN_A_PIPE_HOLDS)
                val (from, to) = pipe()
                FileInputStream("/proc/self/fd/$from").use { reader ->
                    val writer = thread { WRITE.invokeWithArguments(to, region.memory(), MORE_THAN_A_PIPE_HOLDS) }
                    // of a byte that it has written: it is inside, and can't get out before the rest is read
                    reader.read()
                    shouldThrow<IllegalStateException> { region.close() }
                    NullVerbs.live(NullVerbs.Kind.MR) shouldBe 1
                    reader.readNBytes(MORE_THAN_A_PIPE_HOLDS.toInt() - 1)
                    writer.join()
                }
                CLOSE.invokeWithArguments(from)
                CLOSE.invokeWithArguments(to)
                region.close()
                NullVerbs.live(NullVerbs.Kind.MR) shouldBe 1
                NullVerbs.destroyed() shouldBe listOf(region.handle())
            }
        }
    })

/** More than a pipe(7) of Linux holds: 64 KiB, and one page that can be half read. */
private const val MORE_THAN_A_PIPE_HOLDS = 1L shl 18

private val WRITE = native("write", JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG)
private val CLOSE = native("close", JAVA_INT, JAVA_INT)

private fun native(
    name: String,
    result: MemoryLayout,
    vararg arguments: MemoryLayout,
) = Linker.nativeLinker().run {
    downcallHandle(defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, *arguments))
}

/** The end to read from, and the end to write to. */
private fun pipe(): List<Int> =
    Arena.ofConfined().use { arena ->
        val ends = arena.allocate(JAVA_INT, 2)
        native("pipe", JAVA_INT, ADDRESS).invokeWithArguments(ends) shouldBe 0
        List(2) { ends.getAtIndex(JAVA_INT, it.toLong()) }
    }

private fun openDescriptors() = File("/proc/self/fd").list()!!.size

private fun closeHere(bench: NullBench) = bench.close()
