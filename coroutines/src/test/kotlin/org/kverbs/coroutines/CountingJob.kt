// Every implementation of Job has children, whose types are deprecated as they are internal.
@file:Suppress("DEPRECATION_ERROR")

package org.kverbs.coroutines

import kotlinx.coroutines.CompletionHandler
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.InternalForInheritanceCoroutinesApi
import kotlinx.coroutines.Job
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/** A job that counts the handlers that it holds. */
@OptIn(InternalForInheritanceCoroutinesApi::class, InternalCoroutinesApi::class)
class CountingJob(
    private val job: Job = Job(),
) : Job by job {
    /** The number of handlers that were added and not disposed of. */
    val handlers = AtomicInteger()

    override fun invokeOnCompletion(
        onCancelling: Boolean,
        invokeImmediately: Boolean,
        handler: CompletionHandler,
    ): DisposableHandle {
        val handle = job.invokeOnCompletion(onCancelling, invokeImmediately, handler)
        val isHeld = AtomicBoolean(true)
        handlers.incrementAndGet()
        return DisposableHandle {
            handle.dispose()
            if (isHeld.getAndSet(false)) handlers.decrementAndGet()
        }
    }
}
