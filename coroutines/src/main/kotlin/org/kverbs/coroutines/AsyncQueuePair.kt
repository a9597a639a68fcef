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
 * A queue pair whose operations suspend until they are done: `send`, `receive`, `write`, `read`, `compareAndSwap`,
 * `fetchAndAdd`, and [batch] for many in one call. [V] is what its transport can do, as for [TypedQueuePair].
 *
 * **Waiting.** When the send or receive queue is full the caller suspends, and callers go on in the order in which they
 * came.
 *
 * **Messages.** A message goes to the caller of `receive` that has waited longest, whichever callers before it were
 * cancelled. For that, `receive` copies its message out of memory that the queue pair registers itself, as much as is
 * waited for at once. `postReceive` doesn't copy: the device writes into the caller's memory.
 *
 * **Ownership.** From the call to its return the bytes belong to the device. *After a cancellation they still do*,
 * until the request has completed: a [RegisteredBuffer] and its slices know that, other memory must not be used for
 * anything else before the queue pair is closed. The memory of `receive` is the exception: the device never has it, and
 * the caller has it back at once. A region that is closed meanwhile makes the request fail, and the queue pair with it.
 * Closing the queue pair, its dispatcher or the device ends all waits with an IllegalStateException that names what was
 * closed.
 *
 * **Cancellation.** A cancelled caller returns at once; its request goes on. The message of a cancelled receive goes to
 * the oldest caller of `receive` that waits, or else to the next.
 *
 * **Errors.** [org.kverbs.WorkCompletionException] with the status; where requests are flushed because another failed,
 * that one's is the cause. [org.kverbs.WorkRequestException] if the device refuses the request. Each call throws an
 * exception of its own, whose stack trace shows the call.
 *
 * Any thread.
 */
public class AsyncQueuePair<out V : Verbs> internal constructor(
    /** The queue pair as the builders know it. */
    public val typed: TypedQueuePair<V>,
    internal val sends: SendSide,
    internal val receives: ReceiveSide,
    private val sharesReceives: Boolean,
) : AutoCloseable {
    /**
     * The queue pair itself. Requests posted on it directly belong to nobody here, and may overrun the completion
     * queue.
     */
    public val queuePair: QueuePair get() = typed.queuePair

    /** What a peer needs to connect or send to it. */
    public fun endpoint(options: ConnectOptions = ConnectOptions.DEFAULTS): QueuePairEndpoint =
        queuePair.endpoint(options)

    /** Closes the queue pair and ends all waits. */
    override fun close(): Unit = queuePair.close()

    /** Ends all waits, as the connection has ended. Those on a shared receive queue go on. */
    internal fun stop(cause: Throwable) {
        sends.stop(cause)
        if (!sharesReceives) receives.stop(cause)
    }

    /** Names the queue pair. */
    override fun toString(): String = queuePair.describe()
}

/**
 * Makes a queue pair whose completions this dispatcher takes: `dispatcher.qp(pd, RC) { maxSendWr(64) }`. The block
 * needs no completion queue.
 *
 * @param srq where it takes receives from; default is a receive queue of its own
 * @throws IllegalArgumentException if two settings exclude each other, or the domain belongs to another open device
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun <V : Verbs> CompletionDispatcher.qp(
    pd: ProtectionDomain,
    transport: Transport<V>,
    srq: AsyncReceiveQueue? = null,
    block: QueuePairSettings.() -> Unit = {},
): AsyncQueuePair<V> {
    require(pd.context() === context) {
        "${pd.describe()} belongs to another open device than the dispatcher; make both from one context"
    }
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
        } catch (e: RuntimeException) {
            room?.giveBack(sendCount + receiveCount)
            throw e
        }
    val qp = typed.queuePair
    val queue =
        requireNotNull(room) {
            "the block chose completion queues of its own; those of the dispatcher are taken without a word"
        }
    val failures = Failures()
    val sends = SendSide(qp, this, queue, sendCount, failures)
    val receives =
        srq?.side ?: ReceiveSide(this, queue, receiveCount, failures, pd) { id, memory -> qp.postReceive(id, memory) }
    qp.whenClosed {
        val closed = IllegalStateException("${qp.describe()} was closed")
        sends.end(closed)
        if (srq == null) receives.end(closed)
    }
    return AsyncQueuePair(typed, sends, receives, sharesReceives = srq != null)
}

/** Connects; errors as [QueuePair.connect]. */
public fun AsyncQueuePair<ConnectedVerbs>.connect(
    remote: QueuePairEndpoint,
    options: ConnectOptions = ConnectOptions.DEFAULTS,
): Unit = typed.connect(remote, options)

/** Makes a datagram queue pair ready to send and receive; errors as [QueuePair.activate]. */
public fun AsyncQueuePair<DatagramVerbs>.activate(options: ConnectOptions = ConnectOptions.DEFAULTS): Unit =
    typed.activate(options)
