package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.XrcDomain
import org.kverbs.attributes.SharedReceiveQueueAttributes

/** Builds a shared receive queue. Valid only inside its block. */
@RdmaDsl
public class SharedReceiveQueueBuilder internal constructor() {
    private var maxWr = 128
    private var maxSge = 1
    private var limit = 0
    internal var xrc: XrcQueue? = null
        private set

    /** Sets the number of receive requests that the queue has room for. Default: 128. */
    public fun maxWr(count: Int) {
        maxWr = count
    }

    /** Sets the number of buffers of a receive request. Default: 1. */
    public fun maxSge(count: Int) {
        maxSge = count
    }

    /**
     * Sets the limit: the device raises SRQ_LIMIT_REACHED once when fewer receives are left. Default: 0, never. The
     * limit is set after the queue is made.
     */
    public fun limit(count: Int) {
        limit = count
    }

    /**
     * Makes it a queue of XRC: messages of extended reliable connections name it by its number, through the receiving
     * queue pairs of [domain], and their receives complete in [cq]. Default: a basic queue, which serves the queue
     * pairs that are made with it.
     */
    public fun xrc(
        domain: XrcDomain,
        cq: CompletionQueue,
    ) {
        xrc = XrcQueue(domain, cq)
    }

    internal fun build(): SharedReceiveQueueAttributes {
        require(limit <= maxWr) {
            "limit($limit) is above maxWr($maxWr): the number of receives is always below it; give a smaller limit"
        }
        return SharedReceiveQueueAttributes(maxWr, maxSge, limit)
    }
}

/** What a queue of XRC has besides. */
internal class XrcQueue(
    val domain: XrcDomain,
    val cq: CompletionQueue,
)
