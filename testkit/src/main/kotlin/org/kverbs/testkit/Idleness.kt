package org.kverbs.testkit

import org.kverbs.embedded.VirtualClock
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource
import kotlin.time.toJavaDuration

/**
 * How long a fabric must have been idle, in real time: a thread of a pool that was there before the test, as the common
 * pool's are, may be about to do something, and has not used the fabric yet.
 */
internal val GRACE = 2.seconds

/**
 * Tells whether a wait on embedded devices is in vain: nothing is to happen on their clock, and there is no thread but
 * this one that is known to change that. On a thread that the test has started, or that has used the fabric, anything
 * may depend, so that then no wait is. Other threads have [GRACE].
 *
 * @param clock null on a real device, where nobody can tell
 */
internal class Idleness(
    private val clock: VirtualClock?,
) {
    private val started = StartedThreads.counter()
    private var since: TimeMark? = null

    /** Something happened. */
    fun ends() {
        since = null
    }

    /** Lets a time pass on the clock, or really, and calls [poll] meanwhile, at last when it is over. */
    fun pass(
        time: Duration,
        poll: () -> Unit,
    ) {
        val end = TimeSource.Monotonic.markNow() + time
        if (clock != null) {
            clock.advance(time.toJavaDuration())
        } else {
            while (end.hasNotPassedNow()) poll()
        }
        poll()
    }

    /** Called again and again while nothing does; whether the wait can be given up. */
    fun isForGood(): Boolean {
        if (clock == null || !clock.isIdle || !clock.isOnOneThread || started.get() != 0) {
            ends()
            return false
        }
        val began = since ?: TimeSource.Monotonic.markNow().also { since = it }
        return began.elapsedNow() >= GRACE
    }
}

/**
 * Counts the threads that the thread of one test makes, and those that these make: not those of a test that runs beside
 * it.
 */
internal object StartedThreads {
    private val counter =
        object : InheritableThreadLocal<AtomicInteger>() {
            override fun initialValue() = AtomicInteger()

            override fun childValue(parent: AtomicInteger) = parent.also { it.incrementAndGet() }
        }

    /** Counts from 0 on, for the calling thread and those that it starts from now on. */
    fun counter(): AtomicInteger = AtomicInteger().also(counter::set)
}
