package org.kverbs.cli.pingpong

import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * Polls in the calling thread. Ends when nothing came for [timeout], and with an InterruptedException when the thread
 * is interrupted.
 *
 * @param poll polls once, and returns the number of completions
 */
internal class Rally(
    private val ends: List<PingPongEnd>,
    private val timeout: Duration,
    private val poll: () -> Int,
) {
    private var idlePolls = 0
    private var idleSince = TimeSource.Monotonic.markNow()

    fun runUntil(isDone: () -> Boolean) {
        while (!isDone()) {
            if (poll() > 0) idlePolls = 0 else spin()
        }
    }

    /**
     * Waits for one round. After 256 empty polls the thread yields its CPU: if the peer waits for the same CPU, each
     * message otherwise takes a whole time slice of the scheduler. Reads the clock every 1024 empty polls.
     */
    private fun spin() {
        if (idlePolls < SPINS) Thread.onSpinWait() else Thread.yield()
        when {
            idlePolls++ == 0 -> {
                idleSince = TimeSource.Monotonic.markNow()
            }

            idlePolls % CLOCK_INTERVAL == 0 -> {
                if (idleSince.elapsedNow() > timeout) throw silence(timeout, ends)
                if (Thread.interrupted()) throw InterruptedException()
            }
        }
    }

    internal companion object {
        private const val CLOCK_INTERVAL = 1024

        /** Some microseconds: more than a card takes for a message there and back. */
        const val SPINS = 256
    }
}

/** Returns the exception for a peer from which nothing came for [timeout]. */
internal fun silence(
    timeout: Duration,
    ends: List<PingPongEnd>,
) = PingPongException(
    "nothing came from the peer for $timeout (--timeout), ${ends.joinToString(
        " and ",
    ) { it.progress }}: it died, has other options than " +
        "this end, or a message was lost",
)
