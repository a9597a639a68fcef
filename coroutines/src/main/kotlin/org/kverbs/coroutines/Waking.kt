package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlin.coroutines.resumeWithException

/**
 * Runs [block], which resumes coroutines. If the dispatcher of such a coroutine throws, the exception goes to the
 * thread's handler of uncaught exceptions and no further: the polling thread must go on, and a close must end the other
 * waits. That coroutine never runs again.
 *
 * @return false if [block] threw: the result for that coroutine goes to another one
 */
internal inline fun waking(block: () -> Unit): Boolean =
    try {
        block()
        true
    } catch (e: Throwable) {
        reportUncaught(e)
        false
    }

internal fun reportUncaught(failure: Throwable) {
    val thread = Thread.currentThread()
    try {
        thread.uncaughtExceptionHandler.uncaughtException(thread, failure)
    } catch (_: Throwable) {
        // The JVM ignores it, too.
    }
}

/** Resumes a coroutine with an exception of its own made from [cause]. */
internal fun CancellableContinuation<*>.fail(cause: Throwable) {
    waking { resumeWithException(cause.calledBy(this)) }
}

/** Completes with an exception of its own made from [cause]; false if it had ended before. */
internal fun CompletableDeferred<*>.fail(cause: Throwable): Boolean {
    var isTaken = true
    waking { isTaken = completeExceptionally(cause.calledBy(null)) }
    return isTaken
}

/**
 * Completes with a value; false if it was cancelled before. A cancellation at the same time can win all the same, so
 * true does not mean that anybody gets the value of a deferred that others can cancel.
 */
internal fun <T> CompletableDeferred<T>.wake(value: T): Boolean {
    var isTaken = true
    waking { isTaken = complete(value) }
    return isTaken
}

/**
 * Suspends as suspendCancellableCoroutine does, also for a [block] that throws, as a post that is refused does. The
 * other function leaves the continuation at the job of the coroutine then, for as long as the coroutine goes on.
 */
internal suspend inline fun <T> suspendToPost(crossinline block: (CancellableContinuation<T>) -> Unit): T =
    suspendCancellableCoroutine {
        try {
            block(it)
        } catch (e: Throwable) {
            it.cancel(e) // takes it from the job; changes nothing if the end of the queue has resumed it already
            throw e
        }
    }
