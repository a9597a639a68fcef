package org.kverbs.management.rmpp

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.minutes
import kotlin.time.Duration.Companion.seconds

/**
 * The bounds of long messages. They hold against every peer, whatever it sends.
 *
 * @property window how many segments a peer can send before an acknowledgement
 * @property timeout how long a sender waits for an acknowledgement before it sends the segments again
 * @property retries how often a sender sends the same segments again
 * @property idle how long a receiver waits for the next segment
 * @property total how long one message can take to arrive
 * @property maxMessage the longest message that is received, in bytes
 * @property maxReceived how many bytes all messages that are being received have together; the same bounds this
 *   program's own requests that are being sent, and its answers
 * @property maxTransfers how many requests are received at once, and how many answers; the same bounds those that are sent
 */
public data class RmppSettings(
    public val window: Int = 64,
    public val timeout: Duration = 250.milliseconds,
    public val retries: Int = 7,
    public val idle: Duration = 10.seconds,
    public val total: Duration = 10.minutes,
    public val maxMessage: Int = 64 shl 20,
    public val maxReceived: Long = 256L shl 20,
    public val maxTransfers: Int = 256,
) {
    init {
        require(window in 1..MAX_WINDOW) { "the window is $window segments; give 1 to $MAX_WINDOW" }
        require(timeout.isPositive()) { "the timeout $timeout leaves no time for an acknowledgement" }
        require(retries >= 0) { "retries are $retries; give 0 to send each segment once" }
        require(idle.isPositive()) { "the idle time $idle leaves no time for the next segment" }
        require(total.isPositive()) { "the total time $total leaves no time for a message" }
        require(maxMessage > 0) { "the longest message has $maxMessage bytes; give 1 or more" }
        require(maxReceived >= maxMessage) { "all messages have $maxReceived bytes together, less than one may have" }
        require(maxTransfers > 0) { "$maxTransfers messages can be under way; give 1 or more" }
    }

    private companion object {
        private const val MAX_WINDOW = 4096
    }
}
