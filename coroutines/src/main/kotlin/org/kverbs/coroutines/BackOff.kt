package org.kverbs.coroutines

import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.TimeSource

/**
 * Computes the pauses between attempts to connect: twice as long each time, up to [longest], and each shortened at
 * random by up to a half, so that the clients of a restarted server do not all connect at once.
 */
internal class BackOff(
    private val first: Duration,
    private val longest: Duration,
    private val giveUpAfter: Duration,
    private val clock: TimeSource = TimeSource.Monotonic,
    private val random: Random = Random,
) {
    private var next = first
    private var lastUp = clock.markNow()
    private var isUp = false

    fun connected() {
        isUp = true
        lastUp = clock.markNow()
    }

    /**
     * Returns the next pause, or null to give up. After a connection that lasted longer than the pause before it, the
     * pauses start again at [first].
     */
    fun pause(): Duration? {
        if (isUp && lastUp.elapsedNow() > next) next = first
        if (isUp) lastUp = clock.markNow()
        isUp = false
        if (lastUp.elapsedNow() >= giveUpAfter) return null
        return (next * random.nextDouble(0.5, 1.0)).also { next = minOf(next * 2, longest) }
    }
}
