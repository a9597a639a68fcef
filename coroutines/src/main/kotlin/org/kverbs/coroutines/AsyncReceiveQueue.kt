package org.kverbs.coroutines

import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.SharedReceiveQueue
import org.kverbs.dsl.SharedReceiveQueueBuilder
import org.kverbs.dsl.srq

/**
 * Receives the messages of several queue pairs through one shared receive queue: `dispatcher.qp(pd, RC, srq)`.
 * [Received.queuePairNumber] names the queue pair of a message. For waiting, cancellation and ownership see
 * [AsyncQueuePair].
 */
public class AsyncReceiveQueue internal constructor(
    /** The plain shared receive queue. */
    public val queue: SharedReceiveQueue,
    internal val side: ReceiveSide,
) : AutoCloseable {
    /** Posts a receive, suspends until a message has arrived, and copies the message [into] the memory. */
    public suspend fun receive(into: MemorySlice): Received = side.await(into, into.pin)

    /** Posts a receive, suspends until a message has arrived, and copies the message [into] the buffer. */
    public suspend fun receive(into: RegisteredBuffer): Received = side.await(into.all(), into)

    /**
     * Posts a receive and returns at once; the caller awaits the message later. For cancellation and ownership see the
     * queue pair's `postReceive`.
     *
     * @throws IllegalStateException if the queue is full: this function does not wait
     * @throws org.kverbs.WorkRequestException if the device refuses the receive
     */
    public fun postReceive(into: MemorySlice): Deferred<Received> = side.post(into, into.pin)

    /** Posts a receive into the whole buffer; otherwise as above. */
    public fun postReceive(into: RegisteredBuffer): Deferred<Received> = side.post(into.all(), into)

    /** Closes the queue and ends all waits. */
    override fun close(): Unit = queue.close()
}

/**
 * Creates a shared receive queue whose completions this dispatcher takes: `dispatcher.srq(pd) { maxWr(1024) }`.
 *
 * @throws IllegalArgumentException if the domain belongs to another context or has a thread domain
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue
 */
public fun CompletionDispatcher.srq(
    pd: ProtectionDomain,
    block: SharedReceiveQueueBuilder.() -> Unit = {},
): AsyncReceiveQueue {
    requireDispatchable(pd)
    val srq = pd.srq(block)
    val capacity = srq.query().maxWr()
    val polled = reserve(capacity)
    val side = ReceiveSide(this, polled, capacity, Failures(), pd) { id, memory -> srq.postReceive(id, memory) }
    srq.whenClosed { side.end(IllegalStateException("${srq.describe()} was closed")) }
    return AsyncReceiveQueue(srq, side)
}
