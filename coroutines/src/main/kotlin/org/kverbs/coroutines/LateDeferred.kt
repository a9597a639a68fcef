// Every implementation of Job has children, whose types are deprecated as they are internal.
@file:Suppress("DEPRECATION_ERROR")

package org.kverbs.coroutines

import kotlinx.coroutines.ChildHandle
import kotlinx.coroutines.ChildJob
import kotlinx.coroutines.CompletionHandler
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.InternalForInheritanceCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.selects.SelectClause0
import kotlinx.coroutines.selects.SelectClause1
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.cancellation.CancellationException

/**
 * A deferred value that makes a deferred of kotlinx.coroutines only for what its few own functions can't do: for
 * children, joins, selects and handlers. Such a deferred takes several objects and atomic steps, which one coroutine
 * that awaits one value does not need.
 */
@OptIn(InternalForInheritanceCoroutinesApi::class, InternalCoroutinesApi::class, ExperimentalCoroutinesApi::class)
internal abstract class LateDeferred<T> : Deferred<T> {
    /** Returns the deferred of kotlinx.coroutines that ends as this one does, or has. */
    protected abstract fun whole(): Deferred<T>

    final override val key: CoroutineContext.Key<*> get() = Job

    @ExperimentalCoroutinesApi
    final override val parent: Job? get() = null
    final override val children: Sequence<Job> get() = whole().children
    final override val onJoin: SelectClause0 get() = whole().onJoin
    final override val onAwait: SelectClause1<T> get() = whole().onAwait

    final override fun start(): Boolean = false

    final override suspend fun join(): Unit = whole().join()

    final override fun getCompleted(): T = whole().getCompleted()

    final override fun getCompletionExceptionOrNull(): Throwable? = whole().getCompletionExceptionOrNull()

    final override fun getCancellationException(): CancellationException = whole().getCancellationException()

    final override fun attachChild(child: ChildJob): ChildHandle = whole().attachChild(child)

    final override fun invokeOnCompletion(handler: CompletionHandler): DisposableHandle =
        whole().invokeOnCompletion(handler)

    final override fun invokeOnCompletion(
        onCancelling: Boolean,
        invokeImmediately: Boolean,
        handler: CompletionHandler,
    ): DisposableHandle = whole().invokeOnCompletion(onCancelling, invokeImmediately, handler)

    @Deprecated("of binary compatibility only", level = DeprecationLevel.HIDDEN)
    final override fun cancel(cause: Throwable?): Boolean {
        cancel(cause as? CancellationException ?: cause?.let { CancellationException("the receive was cancelled", it) })
        return true
    }

    @Suppress("DeprecatedCallableAddReplaceWith")
    @Deprecated("of the interface, which has no use for it", level = DeprecationLevel.ERROR)
    final override fun plus(other: Job): Job = other
}
