package org.kverbs.testkit

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineExceptionHandler
import kotlinx.coroutines.CoroutineName
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.Job
import kotlinx.coroutines.async
import kotlinx.coroutines.job
import org.kverbs.embedded.VirtualClock
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.locks.LockSupport
import kotlin.coroutines.ContinuationInterceptor
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.TimeMark
import kotlin.time.TimeSource

/** The number of tasks that run before the next poll. */
private const val TURN = 64

/**
 * Runs the coroutines of a test on the thread that made it, and polls between them.
 *
 * @param poll polls all queues once; returns the number of completions
 * @param base further elements of the coroutines' context
 * @param clock the clock of embedded devices, null on a real one
 * @param idle called when all coroutines wait and no completion came; returns whether it made something happen
 */
internal open class TestLoop(
    private val poll: () -> Int,
    private val base: CoroutineContext,
    clock: VirtualClock? = null,
    private val idle: () -> Boolean = { false },
) : CoroutineDispatcher() {
    private val thread = Thread.currentThread()
    private val tasks = ConcurrentLinkedQueue<Runnable>()
    private val uncaught = ConcurrentLinkedQueue<Throwable>()
    private var inVain = 0
    private val idleness = Idleness(clock)

    /** The scope for coroutines that the test needs until its end; their failures fail the test at once. */
    val background = CoroutineScope(context() + reportingJob())

    override fun dispatch(
        context: CoroutineContext,
        block: Runnable,
    ) {
        tasks.add(block)
        LockSupport.unpark(thread)
    }

    /** Makes a job that also reports the failure of an `async`, which no exception handler gets. */
    @OptIn(InternalCoroutinesApi::class)
    private fun reportingJob(): Job =
        Job().also { job ->
            job.invokeOnCompletion(onCancelling = true) { if (it !is CancellationException) it?.let(uncaught::add) }
        }

    /** Lets the test fail. */
    fun fail(failure: Throwable) {
        uncaught += failure
    }

    /** Tells whether both loops run on the same thread, one within the other. */
    fun isOnThreadOf(other: TestLoop): Boolean = thread === other.thread

    /** Returns the context for coroutines of the test that have no parent in it. */
    fun context(): CoroutineContext = this + base + CoroutineExceptionHandler { _, failure -> fail(failure) }

    /**
     * Runs a coroutine until it has ended, then cancels [background] and waits for its end.
     *
     * @param timeout real time, after which the coroutine is cancelled and has the same time again to end. A task that
     *     keeps the thread for this time is interrupted
     * @throws AssertionError if the timeout passed
     * @throws InterruptedException if the thread was interrupted
     */
    fun <R> run(
        timeout: Duration,
        block: suspend CoroutineScope.() -> R,
    ): R = Watchdog(timeout).use { watchdog -> UncaughtFailures.during(this) { run(timeout, watchdog, block) } }

    @OptIn(ExperimentalCoroutinesApi::class)
    private fun <R> run(
        timeout: Duration,
        watchdog: Watchdog,
        block: suspend CoroutineScope.() -> R,
    ): R {
        val start = TimeSource.Monotonic.markNow()
        val result = CoroutineScope(context()).async(block = block)
        val end = start + timeout
        var failure: Throwable? = null
        var thrown: Throwable? = null
        while (!result.isCompleted) {
            if (failure == null) {
                failure = watchdog.failure ?: uncaught.peek() ?: failureOf(result, end, timeout) ?: inVain(result)
                if (failure != null) {
                    if (watchdog.failure == null) thrown = thrownIn(result)
                    result.cancel(CancellationException(failure.message, failure))
                }
            } else if (start.elapsedNow() > timeout * 2) {
                break
            }
            turn(watchdog)
        }
        val left = endBackground(timeout, watchdog)
        // Without copies of a failure, which a coroutine that was cancelled with it may have made.
        val all =
            listOfNotNull(
                thrown,
                watchdog.failure ?: failure ?: result.getCompletionExceptionOrNull(),
                *uncaught.toTypedArray(),
                left,
            ).distinct()
        val first = all.firstOrNull() ?: return result.getCompleted()
        all.drop(1).forEach(first::addSuppressed)
        throw first
    }

    /** Returns the exception of one of the coroutines, even if others cannot be cancelled and go on. */
    @OptIn(InternalCoroutinesApi::class)
    private fun thrownIn(result: Job): Throwable? {
        if (!result.isCancelled) return null
        return generateSequence<Throwable>(result.getCancellationException()) { it.cause }
            .firstOrNull { it !is CancellationException }
    }

    /** Cancels [background]. Returns a failure if its coroutines do not end. */
    private fun endBackground(
        timeout: Duration,
        watchdog: Watchdog,
    ): AssertionError? {
        val job = background.coroutineContext.job
        val start = TimeSource.Monotonic.markNow()
        job.cancel(CancellationException("the block has ended"))
        while (!job.isCompleted) {
            if (start.elapsedNow() > timeout) {
                return AssertionError(
                    "coroutines of backgroundScope have not ended within $timeout after their cancellation: " +
                        "${job.names()}",
                )
            }
            turn(watchdog)
        }
        return null
    }

    private fun failureOf(
        result: Deferred<*>,
        end: TimeMark,
        timeout: Duration,
    ): Throwable? =
        when {
            Thread.interrupted() -> interrupted()
            end.hasPassedNow() -> AssertionError("the block has not ended within $timeout; ${waiting(result.job)}")
            else -> null
        }

    private fun inVain(result: Deferred<*>): Throwable? {
        if (inVain == 0) {
            idleness.ends()
            return null
        }
        if (isElsewhere(result.job) || isElsewhere(background.coroutineContext.job) || !idleness.isForGood()) {
            return null
        }
        val why = "no packet is in flight, and no timer runs: the block waits in vain"
        return AssertionError("$why; ${waiting(result.job)}")
    }

    /** Tells whether a coroutine runs on another dispatcher, where it may do anything. */
    private fun isElsewhere(job: Job): Boolean =
        (job as? CoroutineScope)?.coroutineContext?.get(ContinuationInterceptor).let { it != null && it !== this } ||
            job.children.any(::isElsewhere)

    private fun waiting(job: Job): String {
        if (job.children.none()) return "it waits for something that does not happen"
        return "its coroutines have not ended either (${job.names()}): cancel those that serve for ever at the end " +
            "of the block," +
            " or launch them in backgroundScope"
    }

    private fun Job.names() =
        children.joinToString {
            (it as? CoroutineScope)?.coroutineContext?.get(CoroutineName)?.name
                ?: "one without a CoroutineName"
        }

    private fun movesOn(): Boolean =
        try {
            idle()
        } catch (e: IllegalStateException) {
            uncaught += e // the clock found no end of timers
            true
        }

    private fun turn(watchdog: Watchdog) {
        var done = 0
        while (done < TURN) {
            watchdog.run(tasks.poll() ?: break)
            done++
        }
        if (!thread.isInterrupted) done += poll()
        when {
            done > 0 || movesOn() -> inVain = 0
            else -> pauseAfterPoll(++inVain)
        }
    }
}
