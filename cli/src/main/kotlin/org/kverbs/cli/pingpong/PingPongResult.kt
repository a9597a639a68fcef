package org.kverbs.cli.pingpong

import java.util.Locale
import kotlin.time.Duration
import kotlin.time.DurationUnit.MICROSECONDS
import kotlin.time.DurationUnit.SECONDS

/**
 * How a ping-pong went.
 *
 * @property size bytes of a message
 * @property iterations how often one went there and back, the warm-up not counted
 * @property elapsed from before the first of these until all was done
 * @property roundTrips each message's time, if this process had the client's end
 */
class PingPongResult internal constructor(
    val size: Int,
    val iterations: Int,
    val elapsed: Duration,
    val roundTrips: RoundTrips?,
) {
    /** Payload that was sent, both ways together. */
    val bytes: Long get() = 2L * size * iterations

    /** The lines of ibv_rc_pingpong(1), and the latency if it is known. */
    override fun toString(): String {
        val seconds = elapsed.toDouble(SECONDS)
        val usec = elapsed.toDouble(MICROSECONDS)
        val lines =
            mutableListOf(
                text("%d bytes in %.2f seconds = %.2f Mbit/sec", bytes, seconds, bytes * 8 / usec),
                text("%d iters in %.2f seconds = %.2f usec/iter", iterations, seconds, usec / iterations),
            )
        roundTrips?.let { times ->
            val (min, median, most) = times.quantiles(0.0, 0.5, 0.99).map { it.toDouble(MICROSECONDS) }
            lines += text("there and back: min %.2f, median %.2f, 99%% %.2f usec", min, median, most)
        }
        return lines.joinToString("\n")
    }

    private fun text(
        format: String,
        vararg values: Any,
    ) = format.format(Locale.ROOT, *values)
}
