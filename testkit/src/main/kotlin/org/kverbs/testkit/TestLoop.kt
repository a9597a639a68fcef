package org.kverbs.testkit

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Delay
import kotlinx.coroutines.DisposableHandle
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.job
import org.kverbs.coroutines.CompletionDispatcher
import org.kverbs.embedded.VirtualClock
import java.time.Duration.ofMillis
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.locks.LockSupport
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.TimeSource

/** Tasks that run before the queues are looked at again. */
private const val TURN = 64

/** Looks in a row that found nothing, before the thread sleeps between them. */
private const val SPINS = 1000
private const val PAUSE_NANOS = 50_000L

/**
 * Runs coroutines on the thread that made it, and polls the queues of the dispatchers between them.
 *
 * @param clock that of embedded devices, null on a real one
 * @param idle called when all wait and nothing came; whether it has made something happen
 */
internal open class TestLoop(
    private val dispatchers: List<CompletionDispatcher>,
    clock: VirtualClock? = null,
    private val idle: () -> Boolean = { false },
) : CoroutineDispatcher() {
    private val thread = Thread.currentThread()
    private val tasks = ConcurrentLinkedQueue<Runnable>()
    private var inVain = 0
    private val idleness = Idleness(clock)

    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) {
        tasks.add(block)
        LockSupport.unpark(thread)
    }

    /**
     * Runs a coroutine until it has ended.
     *
     * @param timeout in real time; then it is cancelled, and given as long again to end
     * @throws AssertionError if the time ran out
     * @throws InterruptedException if the thread was interrupted
     */
    @OptIn(ExperimentalCoroutinesApi::class)
    fun <R> run(
        timeout: Duration,
        block: suspend CoroutineScope.() -> R,
    ): R {
        val start = TimeSource.Monotonic.markNow()
        val result = CoroutineScope(this).async(block = block)
        var failure: Throwable? = null
        while (!result.isCompleted) {
            val elapsed = start.elapsedNow()
            if (failure == null) {
                failure = failureOf(result, elapsed > timeout, timeout) ?: inVain(result)
                if (failure != null) result.cancel(CancellationException(failure.message, failure))
            } else if (elapsed > timeout * 2) {
                break
            }
            turn()
        }
        throw failure ?: result.getCompletionExceptionOrNull() ?: return result.getCompleted()
    }

    private fun failureOf(
        result: Deferred<*>,
        isLate: Boolean,
        timeout: Duration,
    ): Throwable? =
        when {
            Thread.interrupted() -> InterruptedException("the thread of this test was interrupted")
            isLate -> AssertionError("the block has not ended within $timeout; ${waiting(result.job)}")
            else -> null
        }

    private fun inVain(result: Deferred<*>): Throwable? {
        if (inVain == 0) {
            idleness.ends()
            return null
        }
        if (isElsewhere(result.job) || !idleness.isForGood()) return null
        val why = "nothing is on its way, and no timer runs: the block waits in vain"
        return AssertionError("$why; ${waiting(result.job)}")
    }

    /** Whether a coroutine runs on another dispatcher, where it may do anything. */
    private fun isElsewhere(job: Job): Boolean =
        (job as? CoroutineScope)?.coroutineContext?.get(ContinuationInterceptor).let { it != null && it !== this } ||
            job.children.any(::isElsewhere)

    private fun waiting(job: Job): String {
        val children = job.children.toList()
        if (children.isEmpty()) return "what it waits for doesn't happen"
        val names = children.map { (it as? CoroutineScope)?.coroutineContext?.get(CoroutineName)?.name ?: "one without a CoroutineName" }
        return "coroutines that it launched haven't either (${names.joinToString()}): cancel at its end what serves for ever"
    }

    private fun turn() {
        var done = 0
        while (done < TURN) {
            (tasks.poll() ?: break).run()
            done++
        }
        for (dispatcher in dispatchers) done += dispatcher.poll()
        when {
            done > 0 || idle() -> inVain = 0
            ++inVain < SPINS -> Thread.onSpinWait()
            else -> LockSupport.parkNanos(PAUSE_NANOS)
        }
    }
}

/** The same on a virtual clock, which moves when all wait; what delays and timeouts wait for happens on it, too. */
@OptIn(InternalCoroutinesApi::class)
internal class VirtualLoop(
    dispatchers: List<CompletionDispatcher>,
    private val clock: VirtualClock,
) : TestLoop(dispatchers, clock, clock::next),
    Delay {
    override fun scheduleResumeAfterDelay(
        timeMillis: Long,
        continuation: CancellableContinuation<Unit>,
    ) {
        val alarm = clock.after(ofMillis(timeMillis)) { continuation.resume(Unit) { _, _, _ -> } }
        continuation.invokeOnCancellation { alarm.run() }
    }

    override fun invokeOnTimeout(
        timeMillis: Long,
        block: Runnable,
        context: CoroutineContext,
    ): DisposableHandle {
        val alarm = clock.after(ofMillis(timeMillis)) { dispatch(context, block) }
        return DisposableHandle { alarm.run() }
    }
}
