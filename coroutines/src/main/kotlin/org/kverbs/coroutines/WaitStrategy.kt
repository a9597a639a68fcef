package org.kverbs.coroutines

import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds

/**
 * Decides how a [CompletionDispatcher] waits when its queues are empty. One object can serve several dispatchers if it
 * has no state, as those below.
 */
public fun interface WaitStrategy {
    /**
     * Called by the polling thread after each round that found no completion.
     *
     * @param rounds the number of such rounds in a row, from 1
     * @return [SPIN], [EVENT], or a time to sleep in nanoseconds
     */
    public fun idle(rounds: Int): Long

    /** Results of [idle], and the strategies. */
    public companion object {
        /** Polls again at once. */
        public const val SPIN: Long = 0

        /** Asks the device for an event and sleeps until it comes. */
        public const val EVENT: Long = -1

        /**
         * Polls all the time: the lowest latency, but one processor does nothing else. While nothing comes, the thread
         * offers its processor to other threads now and then, as it does between all rounds with [SPIN].
         */
        public fun busy(): WaitStrategy = WaitStrategy { SPIN }

        /**
         * Polls [spins] times, then sleeps [from], and twice as long each time up to [upTo]. Use it if a device has no
         * events, or an event costs more than the delay.
         */
        public fun backOff(
            spins: Int = 1000,
            from: Duration = 1.microseconds,
            upTo: Duration = 1000.microseconds,
        ): WaitStrategy {
            require(spins >= 0) { "spins($spins): give 0 or more" }
            require(
                from.isPositive() && from <= upTo,
            ) { "from($from) and upTo($upTo): give times above 0, the shorter first" }
            val first = from.inWholeNanoseconds.coerceAtLeast(1)
            val last = upTo.inWholeNanoseconds
            return WaitStrategy { rounds ->
                val doublings = rounds - spins - 1
                when {
                    doublings < 0 -> SPIN

                    doublings >= first.countLeadingZeroBits() -> last

                    // beyond a Long
                    else -> minOf(first shl doublings, last)
                }
            }
        }

        /**
         * Sleeps until the device announces a completion: uses no processor time while nothing comes, but costs a
         * wake-up for each burst.
         */
        public fun event(): WaitStrategy = WaitStrategy { EVENT }

        /**
         * Polls while there is traffic, and sleeps until an event after [rounds] rounds in a row without a completion.
         * The default.
         */
        public fun adaptive(rounds: Int = 2000): WaitStrategy {
            require(rounds >= 0) { "rounds($rounds): give 0 or more" }
            return WaitStrategy { idle -> if (idle <= rounds) SPIN else EVENT }
        }
    }
}
