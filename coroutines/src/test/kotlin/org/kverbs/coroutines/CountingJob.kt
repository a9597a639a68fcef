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
import kotlin.coroutines.CoroutineContext

/** A job that counts the handlers that it holds. */
@OptIn(InternalForInheritanceCoroutinesApi::class, InternalCoroutinesApi::class)
class CountingJob(
    private val job: Job = Job(),
) : Job by job {
    /** The number of handlers that were added and not disposed of. */
    val handlers = AtomicInteger()

    /** The number of handlers that were ever added: a test that counts 0 here looks at the wrong job. */
    val seen = AtomicInteger()

    /** A context that contains this job must return it: the delegate's function would return the delegate. */
    override fun <E : CoroutineContext.Element> get(key: CoroutineContext.Key<E>): E? = super.get(key)

    override fun <R> fold(
        initial: R,
        operation: (R, CoroutineContext.Element) -> R,
    ): R = super.fold(initial, operation)

    override fun minusKey(key: CoroutineContext.Key<*>): CoroutineContext = super.minusKey(key)

    override fun plus(context: CoroutineContext): CoroutineContext = super<Job>.plus(context)

    override fun invokeOnCompletion(
        onCancelling: Boolean,
        invokeImmediately: Boolean,
        handler: CompletionHandler,
    ): DisposableHandle {
        val handle = job.invokeOnCompletion(onCancelling, invokeImmediately, handler)
        val isHeld = AtomicBoolean(true)
        handlers.incrementAndGet()
        seen.incrementAndGet()
        return DisposableHandle {
            handle.dispose()
            if (isHeld.getAndSet(false)) handlers.decrementAndGet()
        }
    }
}
