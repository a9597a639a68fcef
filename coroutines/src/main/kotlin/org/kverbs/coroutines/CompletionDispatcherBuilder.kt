package org.kverbs.coroutines

import org.kverbs.dsl.RdmaDsl

/** Configures a [CompletionDispatcher]. Mutable within its block. */
@RdmaDsl
public class CompletionDispatcherBuilder internal constructor() {
    internal var strategy: WaitStrategy = WaitStrategy.adaptive()
        private set
    internal var isCallers: Boolean = false
        private set
    internal var queueEntries: Int = 4096
        private set

    /** Sets how the polling thread waits when there are no completions; default [WaitStrategy.adaptive]. */
    public fun strategy(strategy: WaitStrategy) {
        this.strategy = strategy
    }

    /**
     * Creates no thread: the caller polls with [CompletionDispatcher.run] or [CompletionDispatcher.poll]. By default
     * the dispatcher has a thread of its own.
     */
    public fun callerPolls() {
        isCallers = true
    }

    /**
     * Sets the number of entries of one completion queue; default 4096. When they are used up, the dispatcher creates
     * another queue.
     */
    public fun queueEntries(count: Int) {
        require(count > 0) { "queueEntries($count): give 1 or more" }
        queueEntries = count
    }
}
