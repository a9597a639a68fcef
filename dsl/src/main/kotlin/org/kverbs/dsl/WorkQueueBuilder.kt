package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.WorkQueueAttributes
import org.kverbs.attributes.WorkQueueFlag

/** Builds a work queue. Valid only inside its block. */
@RdmaDsl
public class WorkQueueBuilder internal constructor() {
    private var cq: CompletionQueue? = null
    private var maxWr = 128
    private var maxSge = 1
    private var flags = emptySet<WorkQueueFlag>()
    internal var isReady = false
        private set

    /** Sets the completion queue of the receives. Required. */
    public fun cq(cq: CompletionQueue) {
        this.cq = cq
    }

    /** Sets the number of receive requests that the queue has room for. Default: 128. */
    public fun maxWr(count: Int) {
        maxWr = count
    }

    /** Sets the number of buffers of a receive request. Default: 1. */
    public fun maxSge(count: Int) {
        maxSge = count
    }

    /** Sets what the device does with received frames. Default: none of them. */
    public fun flags(vararg flags: WorkQueueFlag) {
        this.flags = flags.toSet()
    }

    /** Moves the queue to RDY after it is made. Default: it is in RESET, and takes no receives. */
    public fun ready() {
        isReady = true
    }

    internal fun build(): WorkQueueAttributes =
        WorkQueueAttributes(requireNotNull(cq) { "cq is missing: say cq(cq)" }, maxWr, maxSge, flags)
}
