package org.kverbs.dsl

import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueueAttributes
import org.kverbs.CompletionQueueOptions
import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletion
import org.kverbs.attributes.CompletionField

/** Builds a completion queue. Valid only inside its block. */
@RdmaDsl
public class CompletionQueueBuilder internal constructor() {
    private var entries = 256
    private var channel: CompletionChannel? = null
    private var vector = 0
    private var extended = false
    private var options = CompletionQueueOptions.NONE

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

    /**
     * Gives each completion further fields: `fields(TIMESTAMP, FLOW_TAG)`. The queue is then an extended one. Default:
     * none. A device without one of them refuses the queue with an UnsupportedVerbException.
     */
    public fun fields(vararg fields: CompletionField) {
        options = options.with(*fields)
    }

    /**
     * Gives each completion the moment that the device completed it: [WorkCompletion.completionTimestamp]. Short for
     * `fields(TIMESTAMP)`.
     */
    public fun timestamps(): Unit = fields(CompletionField.TIMESTAMP)

    /** Gives each completion its moment by the clock on the wall: [WorkCompletion.wallClockNanos]. */
    public fun wallClock(): Unit = fields(CompletionField.WALL_CLOCK)

    /**
     * Promises that one thread at a time uses the queue and destroys or resets its queue pairs, so that the driver takes
     * no lock: see [CompletionQueueOptions.singleThreaded]. Default: no promise.
     */
    public fun singleThreaded() {
        options = options.asSingleThreaded()
    }

    /** Lets a full queue lose completions and stay usable. Default: a full queue breaks, and the program notices. */
    public fun ignoreOverrun() {
        options = options.ignoringOverrun()
    }

    /** Makes the queue in a parent domain: see [org.kverbs.ProtectionDomain.parentDomain]. Default: in none. */
    public fun parentDomain(domain: ProtectionDomain) {
        options = options.with(domain)
    }

    internal fun build() = CompletionQueueAttributes(entries, channel, vector, extended, options)
}
