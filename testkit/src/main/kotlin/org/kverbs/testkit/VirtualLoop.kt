package org.kverbs.testkit

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.Delay
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.InternalCoroutinesApi
import org.kverbs.embedded.VirtualClock
import java.time.Duration.ofMillis
import kotlin.coroutines.CoroutineContext

/**
 * Runs coroutines on a virtual clock, which moves when all of them wait. Delays and timeouts use the same clock.
 *
 * This class implements [Delay] instead of using `TestCoroutineScheduler`: the packets and retries of the devices
 * already have a queue, in nanoseconds, and a delay must come in its order among them. The scheduler keeps a second
 * queue, counts milliseconds, and does not tell when its next task is due, so that the order of the two queues could
 * not be determined. [Delay] is internal to kotlinx.coroutines; no other file implements it.
 */
@OptIn(InternalCoroutinesApi::class)
internal class VirtualLoop(
    poll: () -> Int,
    base: CoroutineContext,
    private val clock: VirtualClock,
) : TestLoop(poll, base, clock, clock::next),
    Delay {
    override fun scheduleResumeAfterDelay(
        timeMillis: Long,
        continuation: CancellableContinuation<Unit>,
    ) {
        val cancel = after(timeMillis) { continuation.resume(Unit) { _, _, _ -> } }
        continuation.invokeOnCancellation { cancel.run() }
    }

    override fun invokeOnTimeout(
        timeMillis: Long,
        block: Runnable,
        context: CoroutineContext,
    ): DisposableHandle {
        val cancel = after(timeMillis) { dispatch(context, block) }
        return DisposableHandle { cancel.run() }
    }

    private fun after(
        timeMillis: Long,
        action: Runnable,
    ): Runnable = if (timeMillis == Long.MAX_VALUE) Runnable { } else clock.after(ofMillis(timeMillis), action)
}
