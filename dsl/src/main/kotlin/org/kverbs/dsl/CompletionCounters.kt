package org.kverbs.dsl

import org.kverbs.CompletionCounter
import org.kverbs.Context
import org.kverbs.QueuePair
import org.kverbs.attributes.CountedOperation

/**
 * Makes a counter of operations: `device.completionCounter { count(qp, SEND, RDMA_WRITE) }` (ibv_create_comp_cntr). The
 * counter is closed if the device refuses an operation of the block. Errors as [Context.completionCounter] and
 * [CompletionCounter.attach].
 */
public fun Context.completionCounter(block: CompletionCounterBuilder.() -> Unit): CompletionCounter =
    completionCounter().attached(block)

/** Makes a counter of bytes: `device.byteCounter { count(qp, RECEIVE) }`; otherwise as [completionCounter]. */
public fun Context.byteCounter(block: CompletionCounterBuilder.() -> Unit): CompletionCounter =
    byteCounter().attached(block)

private fun CompletionCounter.attached(block: CompletionCounterBuilder.() -> Unit): CompletionCounter =
    closingOnFailure { it.also { CompletionCounterBuilder(it).block() } }

/** Builds what a completion counter counts. Valid only inside its block. */
@RdmaDsl
public class CompletionCounterBuilder internal constructor(
    private val counter: CompletionCounter,
) {
    /**
     * Counts operations of a queue pair, which is in state RESET or INIT: before it is connected. Call it once a queue
     * pair.
     */
    public fun count(
        queuePair: QueuePair,
        vararg operations: CountedOperation,
    ) {
        counter.attach(queuePair, *operations)
    }

    /** Counts operations of a queue pair. */
    public fun count(
        queuePair: TypedQueuePair<*>,
        vararg operations: CountedOperation,
    ): Unit = count(queuePair.queuePair, *operations)

    /** Sets the first value of the count. Default: 0. */
    public fun from(value: Long) {
        counter.set(value)
    }
}
