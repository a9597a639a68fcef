package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.ExperimentalCoroutinesApi
import java.util.concurrent.atomic.AtomicReference
import kotlin.coroutines.cancellation.CancellationException
import kotlin.coroutines.resume

/**
 * Takes the place of a [PostedReceive] that has children, that several callers await, or that is joined, selected or
 * listened to.
 *
 * @param waiter the [PollingWait] or the CancellableContinuation that has awaited the receive so far; null for none
 * @param ended called at the end with the failure, and with the message that the receive was given
 */
internal class WholeReceive(
    waiter: Any?,
    ended: (Throwable?, Received?) -> Unit,
) {
    val deferred: CompletableDeferred<Received> = CompletableDeferred()

    /** The message that completes the receive, until it is known whether the receive ended with it. */
    private val given = AtomicReference<Received>()
    private val first = AtomicReference(waiter)

    init {
        deferred.invokeOnCompletion { ended(it, given.getAndSet(null)) }
        if (waiter != null) deferred.onEnd { first.getAndSet(null) }
    }

    /** Has the waiter from before wait no more. False if the end of the receive resumes it. */
    fun leave(waiter: Any): Boolean = first.compareAndSet(waiter, null)

    /**
     * Completes the receive with a message. It can end as cancelled all the same, even if `complete` returns true: a
     * cancellation that comes while it runs wins, and so does one that comes while a child of the deferred runs.
     * Therefore the end of the receive decides what becomes of the message.
     *
     * @return false if the receive had ended before: then the message is the caller's
     */
    fun give(received: Received): Boolean {
        given.set(received)
        return deferred.wake(received) || given.getAndSet(null) == null
    }

    /**
     * Ends the receive with [cause]; false if it had ended before. A cancellation also ends a receive that has its
     * message and waits for a child.
     */
    fun end(cause: Throwable): Boolean {
        var isFirst = true
        waking {
            if (cause is CancellationException) {
                deferred.cancel(cause)
            } else {
                isFirst =
                    deferred.completeExceptionally(cause)
            }
        }
        return isFirst
    }
}

/** Resumes the waiter that [waiter] returns, if any, when the deferred has ended. */
@OptIn(ExperimentalCoroutinesApi::class)
internal inline fun Deferred<Received>.onEnd(crossinline waiter: () -> Any?): DisposableHandle =
    invokeOnCompletion { cause ->
        waiter()?.let { if (cause == null) wakeWaiter(it, getCompleted()) else failWaiter(it, cause) }
    }

/**
 * Resumes a [PollingWait] or a CancellableContinuation with a message.
 *
 * @param isArriving true for the polling thread that takes the completion of the message
 */
@Suppress("UNCHECKED_CAST")
internal fun wakeWaiter(
    waiter: Any,
    message: Received,
    isArriving: Boolean = false,
) {
    if (waiter is PollingWait) {
        if (isArriving) waiter.resumeHere(message) else waiter.resume(message)
    } else {
        waking { (waiter as CancellableContinuation<Received>).resume(message) }
    }
}

/** Resumes a [PollingWait] or a CancellableContinuation with an exception of its own made from [cause]. */
internal fun failWaiter(
    waiter: Any,
    cause: Throwable,
): Unit = if (waiter is PollingWait) waiter.fail(cause) else (waiter as CancellableContinuation<*>).fail(cause)
