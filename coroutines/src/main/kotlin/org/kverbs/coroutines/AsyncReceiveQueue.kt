package org.kverbs.coroutines

import kotlinx.coroutines.Deferred
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.SharedReceiveQueue
import org.kverbs.dsl.RemoteSrq
import org.kverbs.dsl.SharedReceiveQueueBuilder
import org.kverbs.dsl.remote
import org.kverbs.dsl.srq

/**
 * Receives the messages of several queue pairs through one shared receive queue: `dispatcher.qp(pd, RC, srq)`. A queue
 * of XRC receives the messages that name it instead: `dispatcher.srq(pd, domain)`. Any number of coroutines can
 * receive.
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

    /**
     * Returns the name by which peers reach a queue of XRC: `qp.send(local, to)`.
     *
     * @throws org.kverbs.UnsupportedVerbException if it is a basic queue, unless the device numbers all its queues
     */
    public fun remote(): RemoteSrq = queue.remote()

    /** Closes the queue and ends all waits. */
    override fun close(): Unit = queue.close()
}

/**
 * Creates a shared receive queue whose completions this dispatcher takes: `dispatcher.srq(pd) { maxWr(1024) }`.
 *
 * @throws IllegalArgumentException if the domain belongs to another context or has a thread domain, or if the block
 *   calls `xrc` or `tags`
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue
 */
public fun CompletionDispatcher.srq(
    pd: ProtectionDomain,
    block: SharedReceiveQueueBuilder.() -> Unit = {},
): AsyncReceiveQueue {
    requireDispatchable(pd)
    val srq = pd.srq(block)
    return srq.closedOnFailure {
        require(srq.cq() == null) {
            "the ${srq.describe()} has a completion queue of its own, which the dispatcher does not poll: leave out " +
                "xrc and tags; dispatcher.srq(pd, domain) makes a queue of XRC"
        }
        val capacity = srq.query().maxWr()
        receiveQueue(pd, srq, reserve(capacity), capacity)
    }
}

/** Takes the completions of a new shared receive queue, whose completion queue is [room]. */
internal fun CompletionDispatcher.receiveQueue(
    pd: ProtectionDomain,
    queue: SharedReceiveQueue,
    room: PolledQueue,
    capacity: Int,
): AsyncReceiveQueue {
    val side = ReceiveSide(this, room, capacity, Failures(this), pd) { id, memory -> queue.postReceive(id, memory) }
    queue.whenClosed { side.end(IllegalStateException("${queue.describe()} was closed")) }
    return AsyncReceiveQueue(queue, side)
}

/** Runs the steps that follow the making of a queue; closes the queue if they fail. */
internal inline fun <T> SharedReceiveQueue.closedOnFailure(steps: () -> T): T =
    try {
        steps()
    } catch (e: Throwable) {
        closeAll(this, cause = e)
        throw e
    }
