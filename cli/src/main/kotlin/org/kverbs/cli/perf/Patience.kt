package org.kverbs.cli.perf

import kotlin.time.Duration

/**
 * Waits in a loop that polls: spins, then lets other threads run, and now and then looks whether the peer lives. If the
 * peer waits for the same CPU, each message otherwise takes a whole time slice of the scheduler.
 *
 * @param progress the state of the test, for an error message
 */
internal class Patience(
    private val wire: Wire,
    private val timeout: Duration,
    private val progress: () -> String,
) {
    private var idle = 0
    private var since = 0L

    /** Called when something came. */
    fun reset() {
        idle = 0
    }

    /** Called when nothing came. */
    fun pause() {
        if (idle < SPINS) Thread.onSpinWait() else Thread.yield()
        if (idle++ % LOOKS != 0) return
        if (idle == 1) {
            since = System.nanoTime()
            return
        }
        if (Thread.interrupted()) throw InterruptedException()
        wire.requirePeer()
        if (System.nanoTime() - since > timeout.inWholeNanoseconds) throw silence(timeout, progress())
    }

    companion object {
        private const val SPINS = 256
        private const val LOOKS = 1024

        /** The exception for a peer from which nothing came. */
        fun silence(
            timeout: Duration,
            progress: String,
        ) = PerfException(
            "nothing came from the peer for $timeout (--timeout), after $progress: it died, has other options than " +
                "this end, or a message was lost",
        )
    }
}
