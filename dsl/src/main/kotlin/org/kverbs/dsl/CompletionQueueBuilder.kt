package org.kverbs.dsl

import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueueAttributes

/** Builds a completion queue. Valid only inside its block. */
@RdmaDsl
public class CompletionQueueBuilder internal constructor() {
    private var entries = 256
    private var channel: CompletionChannel? = null
    private var vector = 0
    private var extended = false

    /**
     * Sets the least number of completions that the queue has room for. Default: 256. If more are left unpolled, the
     * queue overruns and breaks.
     */
    public fun entries(count: Int) {
        require(count > 0) { "entries($count): give 1 or more, the number of completions that the queue holds" }
        entries = count
    }

    /** Sets the channel on which the queue announces completions. Default: none, the queue is only polled. */
    public fun channel(channel: CompletionChannel) {
        this.channel = channel
    }

    /** Sets the completion vector (interrupt) that serves the queue, from 0. Default: 0. */
    public fun vector(index: Int) {
        require(index >= 0) { "vector($index): give 0 or more, and less than the device's number of vectors" }
        vector = index
    }

    /**
     * Makes and polls the queue by the extended calls: see [CompletionQueueAttributes.extended]. Default: the plain
     * calls.
     */
    public fun extended() {
        extended = true
    }

    internal fun build() = CompletionQueueAttributes(entries, channel, vector, extended)
}
