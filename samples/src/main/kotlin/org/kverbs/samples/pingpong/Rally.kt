package org.kverbs.samples.pingpong

import org.kverbs.CompletionChannel
import kotlin.time.Duration
import kotlin.time.TimeSource
import kotlin.time.toJavaDuration

/**
 * Drives ends in the calling thread until all are done: by polling, or an end with a channel, which must be alone, by sleeping until there
 * are completions. Ends when none came for [timeout], and with an InterruptedException when the thread is interrupted.
 */
internal class Rally(
    private val ends: List<PingPongEnd>,
    private val timeout: Duration,
) {
    private val channel: CompletionChannel? = ends.first().channel
    private var idlePolls = 0
    private var idleSince = TimeSource.Monotonic.markNow()
    private var unackedEvents = 0

    fun run() {
        if (channel != null) ends.forEach { it.cq.arm() }
        ends.forEach { it.begin() }
        while (!ends.all { it.isDone }) {
            when {
                ends.sumOf { it.poll() } > 0 -> idlePolls = 0
                channel != null -> sleep(channel)
                else -> spin()
            }
        }
    }

    /** Arms again before the next poll, so that what completes after that poll makes an event: no wake-up gets lost. */
    private fun sleep(channel: CompletionChannel) {
        val cq = channel.awaitEvent(timeout.toJavaDuration()) ?: throw silence()
        cq.arm()
        if (++unackedEvents == ACK_BATCH) {
            ends.forEach { it.cq.ackEvents() }
            unackedEvents = 0
        }
    }

    /**
     * Looks at the clock only now and then. Who has waited long lets others run: the peer may be waiting for this very CPU, and then
     * each message would take as long as the time that the scheduler gives to a thread.
     */
    private fun spin() {
        if (idlePolls < SPINS) Thread.onSpinWait() else Thread.yield()
        when {
            idlePolls++ == 0 -> {
                idleSince = TimeSource.Monotonic.markNow()
            }

            idlePolls % CLOCK_INTERVAL == 0 -> {
                if (idleSince.elapsedNow() > timeout) throw silence()
                if (Thread.interrupted()) throw InterruptedException()
            }
        }
    }

    private fun silence() =
        PingPongException(
            "nothing came from the peer for $timeout (--timeout), ${ends.joinToString(" and ") { it.progress }}: it died, has other " +
                "options than this end, or a message was lost",
        )

    private companion object {
        /** Acknowledging takes a lock in the library. */
        const val ACK_BATCH = 100

        const val CLOCK_INTERVAL = 1024

        /** Some microseconds: more than a card takes for a message there and back. */
        const val SPINS = 256
    }
}
