package org.kverbs.benchmarks

import com.sun.management.ThreadMXBean
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import kotlinx.coroutines.yield
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.AsyncQueuePair
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.coroutines.WaitStrategy
import org.kverbs.coroutines.completionDispatcher
import org.kverbs.coroutines.qp
import org.kverbs.coroutines.receive
import org.kverbs.coroutines.write
import org.kverbs.dsl.RC
import org.kverbs.dsl.RcVerbs
import org.kverbs.dsl.completionQueue
import org.kverbs.dsl.get
import org.kverbs.dsl.post
import org.kverbs.dsl.qp
import org.kverbs.dsl.write
import java.lang.management.ManagementFactory

private const val OPERATIONS = 2_000_000
private const val ROUNDS = 5

/** Of a dispatcher's queue by default: a ring of 4096 entries does not stay in the first cache. */
private const val QUEUE_ENTRIES = 4096
private const val WAITING = 50_000

/** The time and allocation of an operation, on one thread. */
private class Cost(
    val nanos: Double,
    val bytes: Double,
)

/**
 * Measures the cost of suspending over a device whose requests complete at once: writes by plain verbs, posted and
 * polled one by one, and by coroutines of which a number is in flight, all on one thread that polls. *Late* completions
 * are missed by the first poll, as those of a card are. Prints the processor time of the median of several rounds, and
 * then the heap of a waiting coroutine.
 */
fun main() {
    NullDevice.openCompleting().use { device ->
        val pd = device.protectionDomain()
        val region = pd.memoryRegion(4096, AccessFlag.LOCAL_WRITE)
        val plain = median { plainVerbs(pd, region) }
        println("%-36s %8s %14s %8s %8s".format("writes", "ns/op", "million/s", "ratio", "B/op"))
        report("plain verbs, busy polling", plain, plain)
        for ((late, inFlight) in listOf(false, true).flatMap { late -> listOf(1, 100, 10_000).map { late to it } }) {
            NullDevice.completeLate(late)
            device
                .completionDispatcher {
                    callerPolls()
                    strategy(WaitStrategy.busy())
                }.use { dispatcher ->
                    val qp =
                        dispatcher.qp(pd, RC) {
                            maxSendWr(inFlight)
                            maxRecvWr(1)
                        }
                    report(
                        "suspending, $inFlight in flight" + if (late) ", late" else "",
                        median { suspending(dispatcher, qp, region, inFlight) },
                        plain,
                    )
                }
        }
        NullDevice.completeLate(false)
        val waiting = waiting(device.completionDispatcher { callerPolls() }, pd, region)
        println("%-36s %8d bytes of heap".format("a coroutine in receive()", waiting))
    }
}

private fun report(
    what: String,
    cost: Cost,
    plain: Cost,
) = println(
    "%-36s %8.1f %14.1f %8.2f %8.2f".format(
        what,
        cost.nanos,
        1000 / cost.nanos,
        cost.nanos / plain.nanos,
        cost.bytes,
    ),
)

/** The median, as the rounds of one JVM can differ by a factor, which the best of them would hide. */
private fun median(round: () -> Cost): Cost = List(ROUNDS) { round() }.sortedBy { it.nanos }[ROUNDS / 2]

private val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean

private inline fun measured(block: () -> Unit): Cost {
    val allocated = threads.currentThreadAllocatedBytes
    val began = threads.currentThreadCpuTime
    block()
    val nanos = threads.currentThreadCpuTime - began
    return Cost(
        nanos.toDouble() / OPERATIONS,
        (threads.currentThreadAllocatedBytes - allocated).toDouble() / OPERATIONS,
    )
}

private fun plainVerbs(
    pd: ProtectionDomain,
    region: MemoryRegion,
): Cost {
    val cq = pd.context().completionQueue { entries(QUEUE_ENTRIES) }
    val qp = pd.qp(RC) { cq(cq) }
    val local = region[0, 64]
    val remote = region.remote()
    val batch = WorkCompletions(64)
    return measured {
        repeat(OPERATIONS) {
            qp.post { write(local, to = remote).signaled() }
            while (cq.poll(batch) == 0) Thread.onSpinWait()
            check(batch[0].isSuccess)
        }
    }.also {
        qp.close()
        cq.close()
    }
}

private fun suspending(
    dispatcher: CompletionDispatcher,
    qp: AsyncQueuePair<RcVerbs>,
    region: MemoryRegion,
    inFlight: Int,
): Cost {
    val local = region[0, 64]
    val remote = region.remote()
    return measured {
        dispatcher.run {
            coroutineScope {
                repeat(inFlight) { launch { repeat(OPERATIONS / inFlight) { qp.write(local, to = remote) } } }
            }
        }
    }
}

/** Returns the bytes of heap for each coroutine that waits for a message. */
private fun waiting(
    dispatcher: CompletionDispatcher,
    pd: ProtectionDomain,
    region: MemoryRegion,
): Long {
    // A receive whose queue is not polled does not complete.
    val qp =
        dispatcher.qp(pd, RC) {
            maxSendWr(1)
            maxRecvWr(WAITING)
        }
    val local = region[0, 64]
    var each = 0L
    runCatching {
        dispatcher.run {
            val before = usedHeap()
            repeat(WAITING) { launch(start = CoroutineStart.UNDISPATCHED) { qp.receive(local) } }
            each = (usedHeap() - before) / WAITING
            qp.close()
            yield()
        }
    }
    return each
}

private fun usedHeap(): Long {
    repeat(3) { System.gc() }
    return Runtime.getRuntime().run { totalMemory() - freeMemory() }
}
