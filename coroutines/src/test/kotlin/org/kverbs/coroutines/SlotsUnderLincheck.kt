package org.kverbs.coroutines

import org.kverbs.MemorySlice
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairType
import org.kverbs.dsl.openDevice
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicInteger

/** A buffer that counts its pins. */
internal class Pin : RegisteredBuffer() {
    private val holders = AtomicInteger()

    /** The number of work requests that pin the buffer. */
    val held: Int get() = holders.get()

    override val memory: MemorySegment get() = throw UnsupportedOperationException("there is no memory in it")

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice = throw UnsupportedOperationException("there is no memory in it")

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice = slice(offset, length)

    override fun pin() {
        holders.incrementAndGet()
    }

    override fun unpin() {
        check(holders.decrementAndGet() >= 0) { "unpinned more often than pinned" }
    }

    override fun close() = Unit
}

/**
 * Completions of received messages for Lincheck, which cannot wait for a device. The completion of one index is always
 * the same.
 */
internal object Completions {
    const val COUNT = 16
    private val device = openDevice("embedded0")
    private val region = device.protectionDomain().memoryRegion(4096, AccessFlag.LOCAL_WRITE)

    /** One piece of memory for all: its contents do not matter. */
    val memory: MemorySlice = region.slice()

    /** Successful completions with byte lengths 1, 2, 3 and so on. */
    val all: List<WorkCompletion> = received()

    private fun received(): List<WorkCompletion> {
        val cq = device.completionQueue(4 * COUNT)
        val pd = region.protectionDomain()
        val (from, to) = List(2) { pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq)) }
        from.connect(to.endpoint())
        to.connect(from.endpoint())
        val batch = WorkCompletions(1)
        return (1L..COUNT).map { length ->
            to.postReceive(0, memory)
            from.post(SendRequests().send(1).from(region.slice(0, length)).signaled())
            val found = ArrayList<WorkCompletion>()
            while (found.size < 2) if (cq.poll(batch) > 0) found.add(batch[0].orThrow().copy())
            found.single { it.workRequestId() == 0L }
        }
    }
}
