package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.dsl.ConnectedVerbs
import org.kverbs.dsl.DatagramVerbs
import org.kverbs.dsl.QueuePairSettings
import org.kverbs.dsl.Transport
import org.kverbs.dsl.TypedQueuePair
import org.kverbs.dsl.Verbs
import org.kverbs.dsl.activate
import org.kverbs.dsl.connect
import org.kverbs.dsl.qp

/**
 * Wraps a queue pair in suspend functions that return when their request has completed: `send`, `receive`, `write`,
 * `read`, `compareAndSwap`, `fetchAndAdd`, `atomicWrite`, `flush`, and [batch] for several requests in one call. [V]
 * names the operations of its transport, as for [TypedQueuePair].
 *
 * **Waiting.** When the send or receive queue is full, the caller suspends. Callers continue in the order in which they
 * came.
 *
 * On the polling thread the caller looks once for the completion before it suspends, and returns at once if it is
 * there.
 *
 * **Messages.** A message goes to the caller of `receive` that has waited longest, even if earlier callers were
 * cancelled. Therefore `receive` copies its message from memory that the queue pair registers itself, as much as its
 * callers wait for at once. `postReceive` does not copy: the device writes into the caller's memory.
 *
 * **Ownership.** From the call to its return the bytes belong to the device. *After a cancellation they still do*,
 * until the request has completed. A [RegisteredBuffer] and its slices keep track of that; do not use other memory for
 * anything else before the queue pair is closed. The memory of `receive` is the exception: the device never uses it,
 * and the caller gets it back at once. If a region is closed before its request has completed, the request fails, and
 * the queue pair with it. Closing the queue pair, its dispatcher or the device ends every wait with an
 * IllegalStateException that names the closed object.
 *
 * **Cancellation.** A cancelled caller returns at once; its request goes on. The message of a cancelled receive goes to
 * the caller of `receive` that has waited longest, or to the next caller.
 *
 * **Errors.** A failed request throws [org.kverbs.WorkCompletionException] with the status. If a request was flushed
 * because another failed, the failure of the other is the cause. A request that the device refuses throws
 * [org.kverbs.WorkRequestException]. Each call throws an exception of its own, whose stack trace shows the call.
 *
 * **Threads.** Any thread can call.
 */
public class AsyncQueuePair<out V : Verbs> internal constructor(
    /** The queue pair with the operations of its transport, for requests without coroutines. */
    public val typed: TypedQueuePair<V>,
    internal val sends: SendSide,
    internal val receives: ReceiveSide,
    private val sharesReceives: Boolean,
) : AutoCloseable {
    /**
     * The plain queue pair. The dispatcher drops the completions of requests posted directly on it, and such requests
     * can overrun the completion queue.
     */
    public val queuePair: QueuePair get() = typed.queuePair

    /** The counts of what the queue pair's callers wait for now. */
    public val stats: AsyncQueuePairStats get() = sends.stats

    /** Returns the address that a peer needs to connect or send to this queue pair. */
    public fun endpoint(options: ConnectOptions = ConnectOptions.DEFAULTS): QueuePairEndpoint =
        queuePair.endpoint(options)

    /** Closes the queue pair and ends all waits. */
    override fun close(): Unit = queuePair.close()

    /** Ends all waits because the connection has ended, except those on a shared receive queue. */
    internal fun stop(cause: Throwable) {
        sends.stop(cause)
        if (!sharesReceives) receives.stop(cause)
    }

    /** Names the queue pair. */
    override fun toString(): String = queuePair.describe()
}

/**
 * Creates a queue pair whose completions this dispatcher takes: `dispatcher.qp(pd, RC) { maxSendWr(64) }`. The
 * dispatcher supplies the completion queue.
 *
 * @param srq the shared receive queue that it takes receives from; default null, a receive queue of its own
 * @throws IllegalArgumentException if two settings exclude each other, or the domain belongs to another context or has a
 *   thread domain
 * @throws org.kverbs.RdmaSystemException if the device refuses the queue pair
 */
public fun <V : Verbs> CompletionDispatcher.qp(
    pd: ProtectionDomain,
    transport: Transport<V>,
    srq: AsyncReceiveQueue? = null,
    block: QueuePairSettings.() -> Unit = {},
): AsyncQueuePair<V> {
    requireDispatchable(pd)
    var room: PolledQueue? = null
    var sendCount = 0
    var receiveCount = 0
    val typed =
        try {
            pd.qp(transport) {
                cq { sends, receives ->
                    sendCount = sends
                    receiveCount = receives
                    reserve(sends + receives).also { room = it }.cq
                }
                if (srq != null) {
                    srq(srq.queue)
                    recvCq(srq.side.polled.cq)
                }
                block()
            }
        } catch (e: Throwable) {
            room?.giveBack(sendCount + receiveCount)
            throw e
        }
    return try {
        val queue =
            requireNotNull(room) {
                "the block sets completion queues: leave out cq, sendCq and recvCq, as the dispatcher supplies " +
                    "the queue"
            }
        asyncQueuePair(typed, pd, srq, queue, sendCount, receiveCount)
    } catch (e: Throwable) {
        closeAll(typed.queuePair, cause = e)
        throw e
    }
}

/** Takes the completions of a new queue pair. */
private fun <V : Verbs> CompletionDispatcher.asyncQueuePair(
    typed: TypedQueuePair<V>,
    pd: ProtectionDomain,
    srq: AsyncReceiveQueue?,
    queue: PolledQueue,
    sendCount: Int,
    receiveCount: Int,
): AsyncQueuePair<V> {
    val qp = typed.queuePair
    val failures = Failures(this)
    val sends = SendSide(qp, this, queue, sendCount, failures)
    val receives =
        srq?.side
            ?: ReceiveSide(this, queue, receiveCount, failures, pd, { qp.breakUp() }) { id, memory ->
                qp.postReceive(id, memory)
            }
    qp.whenClosed {
        val closed = IllegalStateException("${qp.describe()} was closed")
        // All waits end before any completion is dropped: one of those can hold the cause for the waits behind it.
        sends.fail(closed)
        if (srq == null) receives.fail(closed)
        closeAll({ sends.end(closed) }, { if (srq == null) receives.end(closed) })
    }
    return AsyncQueuePair(typed, sends, receives, sharesReceives = srq != null)
}

/** Connects to a peer's queue pair; errors as [QueuePair.connect]. */
public fun AsyncQueuePair<ConnectedVerbs>.connect(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = typed.connect(remote, options)

/** Makes a datagram queue pair ready to send and receive; errors as [QueuePair.activate]. */
public fun AsyncQueuePair<DatagramVerbs>.activate(options: ConnectOptions = ConnectOptions.DEFAULTS): Unit =
    typed.activate(options)
