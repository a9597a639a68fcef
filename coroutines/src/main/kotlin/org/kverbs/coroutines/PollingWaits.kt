package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext

/** Keeps the [PollingWait] of the coroutine that has awaited a receive queue on the polling thread last. */
internal class PollingWaits(
    private val dispatcher: CompletionDispatcher,
) {
    private val last = AtomicReference<PollingWait?>()

    /**
     * Returns the wait of the running coroutine. Null if it runs elsewhere than on the polling thread, which resumes it
     * without a task, or if another coroutine waits already.
     */
    fun of(context: CoroutineContext): PollingWait? {
        if (!dispatcher.isPolling) return null
        val last = last.get() ?: return first(context)
        return when {
            !last.isFree -> null
            last.context === context -> last
            else -> first(context)?.also { last.close() }
        }
    }

    private fun first(context: CoroutineContext): PollingWait? {
        val dispatcher = dispatcher.coroutineDispatcher
        if (context[ContinuationInterceptor] !== dispatcher) return null
        return PollingWait(context, dispatcher) { last.compareAndSet(it, null) }.also { last.set(it) }
    }

    /** Forgets the wait, as nobody waits any more. Any thread can call it. */
    fun close() {
        last.getAndSet(null)?.close()
    }
}
