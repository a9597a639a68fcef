package org.kverbs.coroutines

import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.SharedReceiveQueue
import org.kverbs.dsl.SharedReceiveQueueBuilder
import org.kverbs.dsl.srq

/**
 * A shared receive queue whose messages are awaited here, whichever of its queue pairs they come to:
 * `dispatcher.qp(pd, RC, srq)`. [Received.queuePairNumber] says which. Waiting, cancellation and ownership are those of
 * [AsyncQueuePair].
 */
public class AsyncReceiveQueue internal constructor(
    /** The queue itself. */
    public val queue: SharedReceiveQueue,
    internal val side: ReceiveSide,
) : AutoCloseable {
    /** Posts a receive, suspends until a message has come, and copies it [into] the memory. */
    public suspend fun receive(into: MemorySlice): Received = side.await(into, into.pin)

    /** The same into a pooled buffer, all of it. */
    public suspend fun receive(into: RegisteredBuffer): Received = side.await(into.all(), into)

    /**
     * Posts a receive whose message is awaited later. Waiting, cancellation and ownership are those of a queue pair's
     * `postReceive`.
     *
     * @throws IllegalStateException if the queue is full, which is not waited for here
     * @throws org.kverbs.WorkRequestException if the device refuses it
     */
    public fun postReceive(into: MemorySlice): Deferred<Received> = side.post(into, into.pin)

    /** The same into a pooled buffer, all of it. */
    public fun postReceive(into: RegisteredBuffer): Deferred<Received> = side.post(into.all(), into)

    /** Closes the queue and ends all waits. */
    override fun close(): Unit = queue.close()
}

/**
 * Makes a shared receive queue whose completions this dispatcher takes: `dispatcher.srq(pd) { maxWr(1024) }`.
 *
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun CompletionDispatcher.srq(
    pd: ProtectionDomain,
    block: SharedReceiveQueueBuilder.() -> Unit = {},
): AsyncReceiveQueue {
    require(pd.context() === context) {
        "${pd.describe()} belongs to another open device than the dispatcher; make both from one context"
    }
    val srq = pd.srq(block)
    val capacity = srq.query().maxWr()
    val polled = reserve(capacity)
    val side = ReceiveSide(this, polled, capacity, Failures(), pd) { id, memory -> srq.postReceive(id, memory) }
    srq.whenClosed { side.end(IllegalStateException("${srq.describe()} was closed")) }
    return AsyncReceiveQueue(srq, side)
}
