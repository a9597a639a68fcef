package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import kotlin.coroutines.resumeWithException

/**
 * Runs [block], which resumes coroutines, on whatever thread it is. What the dispatcher of such a coroutine throws goes
 * to the thread's handler of uncaught exceptions and no further: the polling thread must go on, and a close must end
 * the other waits. That coroutine never runs again.
 *
 * @return false if it threw: what the coroutine was to have is for others
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
        // Ignored, as the JVM does.
    }
}

/** Resumes a coroutine with an exception of its own that says [cause]. */
internal fun CancellableContinuation<*>.fail(cause: Throwable) {
    waking { resumeWithException(cause.calledBy(this)) }
}

/** Completes with an exception of its own that says [cause]. */
internal fun CompletableDeferred<*>.fail(cause: Throwable) {
    waking { completeExceptionally(cause.calledBy(null)) }
}

/** Completes with a value. False if it was cancelled before. */
internal fun <T> CompletableDeferred<T>.wake(value: T): Boolean {
    var isTaken = true
    waking { isTaken = complete(value) }
    return isTaken
}
