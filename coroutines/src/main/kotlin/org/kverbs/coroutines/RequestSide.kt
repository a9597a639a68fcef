package org.kverbs.coroutines

import org.kverbs.internal.Guard

/**
 * A queue of requests, or a share of one: its key in the requests' ids, its entries in a completion queue, and its end.
 *
 * A subclass calls [begin] at the end of its construction: from then on [fail] can be called.
 */
internal abstract class RequestSide(
    protected val dispatcher: CompletionDispatcher,
    val polled: PolledQueue,
    val capacity: Int,
) : CompletionTarget {
    private val targets = dispatcher.targets

    /** The upper half of the requests' ids. */
    protected val key: Int = targets.add(this)

    /**
     * Held while a request is posted, and while the end is noted, so that nothing is posted after the end. A guard in
     * place of a monitor: a thread that posts alone, as the polling thread does, enters it by an ordinary store.
     */
    private val lock = Guard()
    private var ended: Throwable? = null
    private var stopped: Throwable? = null

    /** Runs [block] under the lock, which the block must not take again. */
    protected inline fun <T> locked(block: () -> T): T {
        lock.enter()
        try {
            return block()
        } finally {
            lock.exit()
        }
    }

    protected fun begin(): Unit = polled.add(this)

    /** Returns the id of a request from the number that [complete] gets. */
    protected fun id(request: Int): Long = key.toLong() shl 32 or Integer.toUnsignedLong(request)

    /** Throws the reason if requests are refused. Called under [lock]. */
    protected fun checkNotEnded() {
        (ended ?: stopped)?.let { throw it.calledBy(null) }
    }

    /** The reason if requests are refused; otherwise null. */
    protected fun end(): Throwable? = locked { ended ?: stopped }

    /** True if requests are refused. Called under [lock]. */
    protected val hasEnded: Boolean get() = ended != null || stopped != null

    final override fun fail(cause: Throwable) {
        locked { if (ended == null) ended = cause }
        failWaits(cause)
    }

    /** Ends all waits. Can be called any number of times. */
    protected abstract fun failWaits(cause: Throwable)

    /**
     * Ends all waits with [cause], and refuses requests from now on, although the queue still exists: its queue pair is
     * in the error state, and some devices do not flush requests that are posted then. Memory that the device has not
     * given back stays pinned until [end].
     */
    fun stop(cause: Throwable) {
        locked { stopped = cause }
        stopWaits(cause)
    }

    /** Ends all waits; completions can still come. */
    protected open fun stopWaits(cause: Throwable): Unit = Unit

    /** Frees the registered memory, as the queue is gone and nothing is posted any more. */
    protected open fun release(): Unit = Unit

    /** Ends all waits and frees everything, as the queue is gone. */
    fun end(cause: Throwable) {
        closeAll(
            { fail(cause) },
            { targets.remove(key) },
            { polled.remove(this) },
            { polled.giveBack(capacity) },
            ::release,
        )
    }
}
