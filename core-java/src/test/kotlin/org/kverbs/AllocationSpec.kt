package org.kverbs

import com.sun.management.ThreadMXBean
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThanOrEqual
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.internal.Posting
import java.lang.foreign.MemorySegment
import java.lang.management.ManagementFactory
import java.util.function.Consumer
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * Shows by the JVM's count of the bytes that a thread allocates that posting and polling on null0 allocate nothing on
 * the heap after warm-up. In the first rounds the JVM allocates memory to link the code.
 */
class AllocationSpec :
    FunSpec({
        onNullDevice()

        test("should notice when a round allocates") {
            var kept: Any? = null
            allocatedWhenWarm(1.seconds) { kept = ByteArray(16) } shouldBeGreaterThanOrEqual ROUNDS * 32
            kept shouldBe kept
        }

        test("should not look for the driver's library in each copy of device memory") {
            NullBench().use { bench ->
                val memory = bench.context.deviceMemory(64)
                val bytes = MemorySegment.ofArray(ByteArray(8))
                // The staging memory of a copy takes some objects; the path of a library would take far more.
                val copies = { memory.copyFrom(0, bytes).also { memory.copyTo(0, bytes) } }
                allocatedWhenWarm(1.seconds) { copies() } shouldBeLessThan ROUNDS * 2 * COPY
            }
        }

        Rounds.entries.forEach { round ->
            test("should allocate nothing in ${round.what}") {
                NullBench().use { bench ->
                    NullVerbs.set(NullVerbs.Option.COMPLETE, 1)
                    val body = round.prepare(bench)
                    withClue("bytes in $ROUNDS rounds") { allocatedWhenWarm(20.seconds, body) shouldBe 0 }
                }
            }
        }
    })

private const val ROUNDS = 100_000L

/** The bytes of objects that a copy of device memory can take. */
private const val COPY = 400L
private val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean

private fun allocatedIn(
    rounds: Long,
    round: Runnable,
): Long {
    val before = threads.currentThreadAllocatedBytes
    for (i in 0 until rounds) round.run()
    return threads.currentThreadAllocatedBytes - before
}

/**
 * Returns the bytes that [ROUNDS] warm rounds allocate: 0 as soon as so many rounds allocate nothing, otherwise the
 * count at the end of [patience].
 */
private fun allocatedWhenWarm(
    patience: Duration,
    round: Runnable,
): Long {
    val start = TimeSource.Monotonic.markNow()
    var bytes: Long
    do {
        bytes = allocatedIn(ROUNDS, round)
    } while (bytes != 0L && start.elapsedNow() < patience)
    return bytes
}

private enum class Rounds(
    val what: String,
    val prepare: (NullBench) -> Runnable,
) {
    LIST("post(SendRequests) of a list that is written anew, and poll(batch)", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice()
        val requests = SendRequests()
        val batch = WorkCompletions(16)
        Runnable {
            requests.clear()
            requests.write(1, 0x1000, 7).from(slice)
            requests.send(2).from(slice).signaled()
            requests.fetchAndAdd(3, 0x1000, 7, 1).into(slice).signaled()
            qp.post(requests)
            check(bench.cq.poll(batch) == 2 && batch.get(1).orThrow().workRequestId() == 3L)
        }
    }),
    BLOCK("post(block) and poll(handler)", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice()
        val seen = LongArray(1)
        val handler = CompletionHandler { seen[0] += it.workRequestId() }
        val block = Consumer<SendRequests> { it.writeWithImmediate(1, 0x1000, 7, 8).from(slice).signaled() }
        Runnable {
            qp.postWith(block)
            check(bench.cq.poll(handler, 16) == 1)
        }
    }),
    LENT("a list that is lent, and poll(batch)", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice()
        val remote = RemoteMemory(0x1000, 64, 7)
        val batch = WorkCompletions(16)
        val lists = listsOf(qp)
        Runnable {
            val list = lists.begin()
            list.read(1, remote).into(slice).signaled().fence()
            lists.finish(list)
            check(bench.cq.poll(batch) == 1 && batch.get(0).isSuccess)
        }
    }),
    DATAGRAM("a datagram to an address handle", { bench ->
        val qp = bench.queuePair(QueuePairType.UD)
        val slice = bench.mr.slice()
        val address = bench.addressHandle()
        val batch = WorkCompletions(16)
        val lists = listsOf(qp)
        Runnable {
            val list = lists.begin()
            list.send(1).from(slice).to(address, 5, 6).signaled()
            lists.finish(list)
            check(bench.cq.poll(batch) == 1)
        }
    }),
    INLINE("inline bytes of a region and of an array", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice(0, 64)
        val bytes = ByteArray(32)
        val batch = WorkCompletions(16)
        val lists = listsOf(qp)
        Runnable {
            val list = lists.begin()
            list.send(1).inline(slice).signaled()
            list.send(2).inline(bytes).inline(bytes)
            lists.finish(list)
            check(bench.cq.poll(batch) == 1)
        }
    }),
    SINGLE("a send, a write and a read that are posted without a list", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice(0, 64)
        val remote = bench.mr.remote()
        val batch = WorkCompletions(16)
        Runnable {
            qp.postSend(1, slice)
            qp.postWrite(2, slice, remote)
            qp.postRead(3, slice, remote)
            check(bench.cq.poll(batch) == 3 && batch.get(2).workRequestId() == 3L)
        }
    }),
    RECEIVE("postReceive of one and of a list", { bench ->
        val qp = bench.queuePair()
        val slice = bench.mr.slice()
        val requests = ReceiveRequests()
        val batch = WorkCompletions(16)
        Runnable {
            qp.postReceive(1, slice)
            requests.clear()
            requests.receive(2).into(slice)
            requests.receive(3).into(slice).into(slice)
            qp.postReceive(requests)
            check(bench.cq.poll(batch) == 3 && batch.get(2).workRequestId() == 3L)
        }
    }),
    TAGS("operations on a list of tags", { bench ->
        val srq = bench.pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(8, 1), 5, 6, bench.cq)
        val list = checkNotNull(srq.tags())
        val slice = bench.mr.slice()
        Runnable {
            val handle = list.add(1, 2, 3, slice)
            list.addSignaled(4, 1, 2, 3, slice)
            list.handled(1)
            list.remove(5, handle)
            list.sync(6)
        }
    }),
    SHARED_RECEIVE("postReceive to a shared queue, and empty polls of both kinds", { bench ->
        val srq = bench.sharedReceiveQueue()
        val slice = bench.mr.slice()
        val batch = WorkCompletions(16)
        Runnable {
            srq.postReceive(1, slice)
            check(bench.cq.poll(batch) == 0)
            check(bench.cq.poll({ }, 16) == 0)
        }
    }),
}

@Suppress("UNCHECKED_CAST")
private fun listsOf(qp: QueuePair) = Posting.DOOR.of(qp) as Posting<SendRequests>
