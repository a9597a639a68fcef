package org.kverbs.cli.pingpong

import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * Polls in the calling thread. Ends when nothing came for [timeout], and with an InterruptedException when the thread
 * is interrupted.
 *
 * @param poll looks once, and gives how much there was
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
     * Looks at the clock only now and then. Who has waited long lets others run: the peer may be waiting for this very
     * CPU, and then each message would take as long as the time that the scheduler gives to a thread.
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

/** What to say when nothing came for [timeout]. */
internal fun silence(
    timeout: Duration,
    ends: List<PingPongEnd>,
) = PingPongException(
    "nothing came from the peer for $timeout (--timeout), ${ends.joinToString(
        " and ",
    ) { it.progress }}: it died, has other options than " +
        "this end, or a message was lost",
)
