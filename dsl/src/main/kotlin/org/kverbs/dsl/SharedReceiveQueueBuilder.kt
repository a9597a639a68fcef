package org.kverbs.dsl

import org.kverbs.attributes.SharedReceiveQueueAttributes

/** Builds a shared receive queue. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public class SharedReceiveQueueBuilder internal constructor() {
    private var maxWr = 128
    private var maxSge = 1
    private var limit = 0

    /** Room for so many receive requests; default 128. */
    public fun maxWr(count: Int) {
        maxWr = count
    }

    /** Scatter entries of a request; default 1. */
    public fun maxSge(count: Int) {
        maxSge = count
    }

    /**
     * Below so many waiting requests the device raises SRQ_LIMIT_REACHED once; default 0, never. Set once the queue
     * exists.
     */
    public fun limit(count: Int) {
        limit = count
    }

    internal fun build(): SharedReceiveQueueAttributes {
        require(limit <= maxWr) { "limit($limit) is above maxWr($maxWr), so it would always be reached" }
        return SharedReceiveQueueAttributes(maxWr, maxSge, limit)
    }
}
