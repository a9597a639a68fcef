package org.kverbs.testkit

import org.kverbs.embedded.VirtualClock
import java.util.concurrent.atomic.AtomicInteger
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeMark
import kotlin.time.TimeSource

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
    private val startedBefore = StartedThreads.count()
    private var since: TimeMark? = null

    /** Something happened. */
    fun ends() {
        since = null
    }

    /** Called again and again while nothing does; whether the wait can be given up. */
    fun isForGood(): Boolean {
        if (clock == null || !clock.isIdle || !clock.isOnOneThread || StartedThreads.count() != startedBefore) {
            ends()
            return false
        }
        val began = since ?: TimeSource.Monotonic.markNow().also { since = it }
        return began.elapsedNow() >= GRACE
    }
}

/** Counts the threads that the thread of a test makes, and those that these make. */
internal object StartedThreads {
    private val counter =
        object : InheritableThreadLocal<AtomicInteger>() {
            override fun initialValue() = AtomicInteger()

            override fun childValue(parent: AtomicInteger) = parent.also { it.incrementAndGet() }
        }

    fun count(): Int = counter.get().get()
}
