package org.kverbs.testkit

import org.kverbs.embedded.VirtualClock
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.locks.LockSupport
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource
import kotlin.time.toJavaDuration
import java.time.Duration as JavaDuration

/**
 * How long a fabric must be idle in real time before a wait is in vain. A thread that existed before the test, as those
 * of the common pool, may be about to use the fabric for the first time.
 */
internal val GRACE = 2.seconds

/** The number of polls in a row that find nothing before the thread sleeps between polls. */
private const val SPINS = 1000
private const val PAUSE_NANOS = 50_000L

/**
 * Waits after a poll that found nothing, the [count]th in a row. It soon sleeps: what the poll looks for can be the work
 * of a thread that waits for this processor.
 */
internal fun pauseAfterPoll(count: Int) {
    if (count < SPINS) Thread.onSpinWait() else LockSupport.parkNanos(PAUSE_NANOS)
}

/**
 * Decides whether a wait on embedded devices is in vain: nothing is due on their clock, and no thread but this one is
 * known that could change that. Known threads are those that the test has started, and those that have used the fabric:
 * with a known thread no wait is in vain. Other threads have [GRACE].
 *
 * @param clock null on a real device, where no wait is known to be in vain
 */
internal class Idleness(
    private val clock: VirtualClock?,
) {
    private val started = StartedThreads.current()
    private var since: TimeMark? = null

    /** The number of polls in a row that found nothing and did not move the clock. */
    private var inVain = 0
    private var passed: JavaDuration? = null

    /** Notes that something happened. */
    fun ends() {
        since = null
        inVain = 0
    }

    /** Waits after a poll that found nothing, unless that poll has moved the clock: the next one moves it on. */
    fun pause() {
        val now = clock?.elapsed()
        if (now != passed) inVain = 0
        passed = now
        pauseAfterPoll(++inVain)
    }

    /** Lets a time pass on the clock, or in real time, and calls [poll] during that time and once at its end. */
    fun pass(
        time: Duration,
        poll: () -> Unit,
    ) {
        val end = TimeSource.Monotonic.markNow() + time
        if (clock != null) {
            clock.advance(time.toJavaDuration())
        } else {
            while (end.hasNotPassedNow()) {
                failOnInterrupt()
                poll()
                pause()
            }
        }
        poll()
    }

    /**
     * Tells whether the wait can be given up. The caller calls this repeatedly while nothing happens.
     *
     * @throws InterruptedException if the thread was interrupted, as by a timeout of the test framework
     */
    fun isForGood(): Boolean {
        failOnInterrupt()
        if (clock == null || !clock.isIdle || !clock.isOnOneThread || started.count != 0) {
            since = null
            return false
        }
        val began = since ?: TimeSource.Monotonic.markNow().also { since = it }
        return began.elapsedNow() >= GRACE
    }
}

private fun failOnInterrupt() {
    if (Thread.interrupted()) throw interrupted()
}

internal fun interrupted() = InterruptedException("the thread of this test was interrupted")

/**
 * Counts the threads that the thread of one test has started, directly or indirectly. Threads of tests that run beside
 * it do not count. Threads of a test within the test count for both.
 */
internal class StartedThreads private constructor(
    private val around: StartedThreads?,
) {
    private val started = AtomicInteger()

    /** The number of threads started so far, including those that have ended. */
    val count: Int get() = started.get()

    private fun add() {
        generateSequence(this) { it.around }.forEach { it.started.incrementAndGet() }
    }

    companion object {
        private val current =
            object : InheritableThreadLocal<StartedThreads?>() {
                override fun childValue(parent: StartedThreads?) = parent?.also { it.add() }
            }

        /** Returns the threads of the innermost [counting] block of the calling thread. */
        fun current(): StartedThreads = current.get() ?: StartedThreads(null)

        /** Counts from 0 while the block runs, for the calling thread and the threads that it starts in the block. */
        inline fun <R> counting(block: () -> R): R {
            val around = begin()
            return try {
                block()
            } finally {
                end(around)
            }
        }

        fun begin(): StartedThreads? = current.get().also { current.set(StartedThreads(it)) }

        fun end(around: StartedThreads?) {
            if (around == null) current.remove() else current.set(around)
        }
    }
}
