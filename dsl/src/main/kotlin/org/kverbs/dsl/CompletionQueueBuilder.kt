package org.kverbs.dsl

import org.kverbs.CompletionChannel
import org.kverbs.CompletionQueueAttributes

/** Builds a completion queue. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public class CompletionQueueBuilder internal constructor() {
    private var entries = 256
    private var channel: CompletionChannel? = null
    private var vector = 0
    private var extended = false

    /** Room for at least so many completions; default 256. More than that unpolled breaks the queue. */
    public fun entries(count: Int) {
        require(count > 0) { "entries($count): a completion queue needs room for one completion at least" }
        entries = count
    }

    /** Where it announces completions; default nowhere, it is polled. */
    public fun channel(channel: CompletionChannel) {
        this.channel = channel
    }

    /** Which completion vector (interrupt) serves it, from 0; default 0. */
    public fun vector(index: Int) {
        require(index >= 0) { "vector($index) is below zero" }
        vector = index
    }

    /**
     * Makes and polls it by the extended calls: see [CompletionQueueAttributes.extended]; default is the plain ones.
     */
    public fun extended() {
        extended = true
    }

    internal fun build() = CompletionQueueAttributes(entries, channel, vector, extended)
}
