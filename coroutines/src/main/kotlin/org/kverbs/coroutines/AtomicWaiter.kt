package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.coroutines.resume

/** Who waits for what stood in the peer's memory before an atomic; it comes into the request's 8 bytes of [results]. */
internal class AtomicWaiter(
    val continuation: CancellableContinuation<Long>,
    private val results: MemorySegment,
) {
    fun succeed(slot: Int) {
        continuation.resume(results.getAtIndex(JAVA_LONG, slot.toLong()))
    }
}
