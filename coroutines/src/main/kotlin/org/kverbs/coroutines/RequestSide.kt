package org.kverbs.coroutines

/**
 * One queue of requests, or a share of one: its key in their ids, its room in a completion queue, and its end.
 *
 * A subclass calls [begin] when it is made: from then on it may fail.
 */
internal abstract class RequestSide(
    dispatcher: CompletionDispatcher,
    val polled: PolledQueue,
    val capacity: Int,
) : CompletionTarget {
    private val targets = dispatcher.targets

    /** The upper half of its requests' ids. */
    protected val key: Int = targets.add(this)

    /** Held while posting, and while the end is noted: after that nobody posts. */
    protected val lock: Any = Any()
    private var ended: Throwable? = null
    private var stopped: Throwable? = null

    protected fun begin(): Unit = polled.add(this)

    /** The id of a request, from the number that [complete] will be given. */
    protected fun id(request: Int): Long = key.toLong() shl 32 or Integer.toUnsignedLong(request)

    /** Throws why nothing can be posted any more. Under [lock]. */
    protected fun checkNotEnded() {
        (ended ?: stopped)?.let { throw it.calledBy(null) }
    }

    /** Whether nothing can be posted any more. Under [lock]. */
    protected val hasEnded: Boolean get() = ended != null || stopped != null

    final override fun fail(cause: Throwable) {
        synchronized(lock) { if (ended == null) ended = cause }
        failWaits(cause)
    }

    /** Ends all waits. Any number of times. */
    protected abstract fun failWaits(cause: Throwable)

    /**
     * Ends all waits with [cause], and refuses requests from now on, though the queue is there still: its queue pair
     * does nothing any more, and some devices don't flush what is posted then. What the device has not given back stays
     * pinned until [end].
     */
    fun stop(cause: Throwable) {
        synchronized(lock) { stopped = cause }
        stopWaits(cause)
    }

    /** Ends all waits; completions may come still. */
    protected open fun stopWaits(cause: Throwable): Unit = Unit

    /** Gives back what it has registered: the queue is gone, and nobody posts any more. */
    protected open fun release(): Unit = Unit

    /** The queue is gone. */
    fun end(cause: Throwable) {
        fail(cause)
        targets.remove(key)
        polled.remove(this)
        polled.giveBack(capacity)
        release()
    }
}
