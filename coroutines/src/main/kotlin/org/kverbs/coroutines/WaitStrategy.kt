package org.kverbs.coroutines

import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds

/**
 * What a [CompletionDispatcher] does when a look at its queues found nothing. One object may serve several dispatchers
 * if it keeps no state, as those here.
 */
public fun interface WaitStrategy {
    /**
     * Called by the polling thread after each round that found nothing.
     *
     * @param rounds how many in a row found nothing, from 1
     * @return [SPIN], [EVENT], or nanoseconds to sleep
     */
    public fun idle(rounds: Int): Long

    /** What [idle] returns besides a time in nanoseconds. */
    public companion object {
        /** Look again at once. */
        public const val SPIN: Long = 0

        /** Ask the device for an event and sleep until it comes. */
        public const val EVENT: Long = -1

        /** Looks all the time: the shortest latency, and one processor that does nothing else. */
        public fun busy(): WaitStrategy = WaitStrategy { SPIN }

        /**
         * Looks [spins] times, then sleeps [from], and twice as long each time up to [upTo]. Where a device has no
         * events, or an event costs more than a late look.
         */
        public fun backOff(
            spins: Int = 1000,
            from: Duration = 1.microseconds,
            upTo: Duration = 1000.microseconds,
        ): WaitStrategy {
            require(spins >= 0) { "spins is $spins; it must not be negative" }
            require(from.isPositive() && from <= upTo) { "from ($from) must be above zero and not above upTo ($upTo)" }
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
         * Sleeps until the device announces a completion: no processor time while nothing comes, and a wake-up for each
         * burst.
         */
        public fun event(): WaitStrategy = WaitStrategy { EVENT }

        /**
         * Looks while there is traffic, and sleeps until an event after [rounds] looks in a row that found nothing. The
         * default.
         */
        public fun adaptive(rounds: Int = 2000): WaitStrategy {
            require(rounds >= 0) { "rounds is $rounds; it must not be negative" }
            return WaitStrategy { idle -> if (idle <= rounds) SPIN else EVENT }
        }
    }
}
