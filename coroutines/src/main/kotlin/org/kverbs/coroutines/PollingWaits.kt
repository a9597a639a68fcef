package org.kverbs.coroutines

import kotlinx.coroutines.Job
import kotlinx.coroutines.ThreadContextElement
import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext

/** Keeps the [PollingWait] of the coroutine that has awaited a receive queue on the polling thread last. */
internal class PollingWaits(
    private val dispatcher: CompletionDispatcher,
) {
    private val last = AtomicReference<PollingWait?>()

    @Volatile
    private var isClosed = false

    /**
     * Returns the wait of the running coroutine. Null if it runs elsewhere than on the polling thread, which resumes it
     * without a task, if another coroutine waits already, if the coroutine is cancelled, if its context has an element
     * for threads, or if the queue is gone.
     */
    fun of(context: CoroutineContext): PollingWait? {
        if (!dispatcher.isPolling) return null
        val last = last.get() ?: return next(context, null)
        return when {
            !last.isFree -> null
            last.context === context -> last
            else -> next(context, last)
        }
    }

    private fun next(
        context: CoroutineContext,
        before: PollingWait?,
    ): PollingWait? {
        val dispatcher = dispatcher.coroutineDispatcher
        if (isClosed || context[ContinuationInterceptor] !== dispatcher || hasThreadElement(context)) return null
        val wait = PollingWait(context, dispatcher, this.dispatcher.loop, ::forget)
        last.set(wait)
        before?.close()
        if (!isClosed && context[Job]?.isActive != false) return wait
        // The close or the end of the job came before the wait was kept, and did not find it.
        forget(wait)
        wait.close()
        return null
    }

    /**
     * True if kotlinx.coroutines must tell an element when the coroutine runs. At the end of a `withContext` that has
     * brought the element it takes it from the thread only if a continuation of its own was resumed there. The element
     * that it adds to each coroutine for debugging names threads only.
     */
    private fun hasThreadElement(context: CoroutineContext) =
        context.fold(false) { has, element ->
            has || (element is ThreadContextElement<*> && element.javaClass.name != DEBUGGING)
        }

    private fun forget(wait: PollingWait) {
        last.compareAndSet(wait, null)
    }

    /** Forgets the wait, and keeps none from now on: the queue is gone. Any thread can call it. */
    fun close() {
        isClosed = true
        last.getAndSet(null)?.close()
    }

    private companion object {
        const val DEBUGGING = "kotlinx.coroutines.CoroutineId"
    }
}
