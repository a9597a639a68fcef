package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.coroutines.resume

/**
 * Waits for the result of an atomic: the value before, which the device writes into the request's 8 bytes of [results].
 */
internal class AtomicWaiter(
    private val continuation: CancellableContinuation<Long>,
    private val results: MemorySegment,
) {
    private var result = 0L
    private var closed: IllegalStateException? = null

    /** Takes the result, before another request uses the slot. */
    fun take(slot: Int) {
        try {
            result = results.getAtIndex(JAVA_LONG, slot.toLong())
        } catch (e: IllegalStateException) {
            // Another thread is closing the queue pair, and its memory with it.
            closed =
                IllegalStateException(
                    "the queue pair was closed before an atomic's result was read; the peer's number can have changed",
                    e,
                )
        }
    }

    fun resume(failure: Throwable?) {
        val cause = failure ?: closed
        if (cause == null) waking { continuation.resume(result) } else continuation.fail(cause)
    }
}
