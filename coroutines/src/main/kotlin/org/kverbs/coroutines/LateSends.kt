package org.kverbs.coroutines

import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlin.coroutines.coroutineContext
import kotlin.coroutines.intrinsics.COROUTINE_SUSPENDED
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn

/**
 * Suspends callers on the polling thread whose requests have not completed yet.
 *
 * @param end returns why the queue has ended
 */
internal class LateSends(
    private val slots: SendSlots,
    private val waits: PollingWaits,
    private val end: () -> Throwable?,
) {
    /**
     * Suspends until a request has completed that the caller has just posted, and whose slot holds [standIn]. The
     * polling thread takes no completion between that post, or a look that has not found the request's, and this call.
     */
    suspend fun <T> await(
        request: Int,
        standIn: Any,
    ): T {
        // Only tail calls: a suspend function that goes on after a call allocates an object each time.
        val wait = waits.of(coroutineContext)
        return if (wait == null) awaitUsually(request, standIn) else await(wait, request, standIn)
    }

    private suspend fun <T> awaitUsually(
        request: Int,
        standIn: Any,
    ): T = suspendCancellableCoroutine { if (!slots.attach(request, standIn, it)) it.fail(checkNotNull(end())) }

    private suspend fun <T> await(
        wait: PollingWait,
        request: Int,
        standIn: Any,
    ): T =
        suspendCoroutineUninterceptedOrReturn {
            if (!wait.begin(slots, request, standIn, it)) {
                it.context.ensureActive()
                throw checkNotNull(end()).calledBy(it)
            }
            COROUTINE_SUSPENDED
        }

    /** Leaves the jobs of the callers, as the queue is gone. */
    fun close(): Unit = waits.close()
}
