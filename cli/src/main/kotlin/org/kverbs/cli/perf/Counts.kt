package org.kverbs.cli.perf

/**
 * What two ends tell each other while messages are under way: in a test with a duration the receiver does not know
 * otherwise how many will come.
 */
internal interface Counts {
    /** This end has sent all its messages, so many. */
    fun sent(messages: Long)

    /** How many messages the peer has sent, if it has sent all of them. Never waits. */
    fun peerSent(): Long?
}
