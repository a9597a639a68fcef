package org.kverbs.coroutines

import org.kverbs.dsl.RdmaDsl

/** How a [CompletionDispatcher] waits, and on whose thread. Mutable within its block. */
@RdmaDsl
public class CompletionDispatcherBuilder internal constructor() {
    internal var strategy: WaitStrategy = WaitStrategy.adaptive()
        private set
    internal var isCallers: Boolean = false
        private set
    internal var queueEntries: Int = 4096
        private set

    /** What to do when there is nothing to do; default [WaitStrategy.adaptive]. */
    public fun strategy(strategy: WaitStrategy) {
        this.strategy = strategy
    }

    /**
     * Makes no thread: the caller polls, by [CompletionDispatcher.run] or [CompletionDispatcher.poll]. Default is a
     * thread of its own.
     */
    public fun callerPolls() {
        isCallers = true
    }

    /**
     * Completions that one of its queues has room for; default 4096. When the room is used up it makes another queue.
     */
    public fun queueEntries(count: Int) {
        require(count > 0) { "queueEntries is $count; it must be above 0" }
        queueEntries = count
    }
}
