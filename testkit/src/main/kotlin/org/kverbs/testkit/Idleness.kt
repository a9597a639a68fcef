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
    private val started = StartedThreads.current()
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
            while (end.hasNotPassedNow()) {
                failOnInterrupt()
                poll()
            }
        }
        poll()
    }

    /**
     * Called again and again while nothing does; whether the wait can be given up.
     *
     * @throws InterruptedException if the thread was interrupted, as by a timeout of the test framework
     */
    fun isForGood(): Boolean {
        failOnInterrupt()
        if (clock == null || !clock.isIdle || !clock.isOnOneThread || started.count != 0) {
            ends()
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
 * The threads that the thread of one test has started, and those that these have started: not those of a test that runs
 * beside it. Those of a test within it count for both.
 */
internal class StartedThreads private constructor(
    private val around: StartedThreads?,
) {
    private val started = AtomicInteger()

    /** How many there were until now, those among them that have ended. */
    val count: Int get() = started.get()

    private fun add() {
        generateSequence(this) { it.around }.forEach { it.started.incrementAndGet() }
    }

    companion object {
        private val current =
            object : InheritableThreadLocal<StartedThreads?>() {
                override fun childValue(parent: StartedThreads?) = parent?.also { it.add() }
            }

        /** Those of the innermost [counting] that the calling thread belongs to. */
        fun current(): StartedThreads = current.get() ?: StartedThreads(null)

        /** Counts from 0 on while the block runs, for the calling thread and those that it starts in it. */
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
