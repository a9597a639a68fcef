package org.kverbs.dsl

import org.kverbs.CompletionQueue
import org.kverbs.SharedReceiveQueue
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

    internal var tagged: TaggedQueue? = null
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
    ): Unit = xrc(domain) { cq }

    /**
     * Makes it a queue of XRC whose completion queue is chosen when the size is known. [choose] gets the number of
     * receives that can be posted.
     */
    public fun xrc(
        domain: XrcDomain,
        choose: (receives: Int) -> CompletionQueue,
    ) {
        xrc = XrcQueue(domain, choose)
    }

    /**
     * Makes it a queue with tag matching: a message goes to the buffer of its tag ([SharedReceiveQueue.tags]), and the
     * receives of the queue complete in [cq]. Default: a basic queue.
     *
     * @param maxTags how many buffers with a tag the queue has room for
     * @param maxOperations how many operations on the list may wait for their completion
     */
    public fun tags(
        maxTags: Int,
        cq: CompletionQueue,
        maxOperations: Int = maxTags,
    ): Unit = tags(maxTags, maxOperations) { cq }

    /**
     * Makes it a queue with tag matching whose completion queue is chosen when the sizes are known. [choose] gets the
     * most completions that can be outstanding: of the receives, of the buffers with a tag and of the operations.
     */
    public fun tags(
        maxTags: Int,
        maxOperations: Int = maxTags,
        choose: (completions: Int) -> CompletionQueue,
    ) {
        tagged = TaggedQueue(maxTags, maxOperations, choose)
    }

    internal fun build(): SharedReceiveQueueAttributes {
        require(xrc == null || tagged == null) {
            "xrc() and tags() exclude each other: a queue of XRC matches no tags; leave one out"
        }
        require(limit <= maxWr) {
            "limit($limit) is above maxWr($maxWr): the number of receives is always below it; give a smaller limit"
        }
        return SharedReceiveQueueAttributes(maxWr, maxSge, limit)
    }
}

/** What a queue of XRC has besides. */
internal class XrcQueue(
    val domain: XrcDomain,
    val choose: (Int) -> CompletionQueue,
)

/** What a queue with tag matching has besides. */
internal class TaggedQueue(
    val maxTags: Int,
    val maxOperations: Int,
    val choose: (Int) -> CompletionQueue,
)
