package org.kverbs.cli.perf

import org.kverbs.RemoteMemory
import org.kverbs.attributes.QueuePairEndpoint
import kotlin.time.Duration

/** The exchange of two ends over TCP, besides their messages. Errors are [PerfException]. */
internal interface Meeting {
    /** True if both ends are of kverbs: they mark the last message of a test with a duration. */
    val isOurs: Boolean

    /** True if the server sends the first message of write-lat, otherwise the client. */
    val serverWritesFirst: Boolean

    /**
     * Compares what both ends must share.
     *
     * @throws PerfException that names each option which differs, and both values
     */
    fun greet()

    /** Exchanges the addresses of the queue pairs. The peer's has as many as these, or this fails. */
    fun exchange(local: List<Place>): List<Place>

    /** Waits until both ends have connected their queue pairs. */
    fun connected()

    /** Waits until both ends are ready for a round. */
    fun ready()

    /** Tells the peer, which receives messages, that this end has sent all of them. */
    fun tellSent(messages: Long)

    /** How many messages the peer has sent, if it has told that it sent all of them. Never waits. */
    fun peerSent(): Long?

    /**
     * Tells the peer what this end has measured, and returns what the peer has, if it has measured something. An end
     * that has no part in the messages waits here while they move, for [within] at most.
     */
    fun report(
        ours: PerfRow?,
        within: Duration,
    ): PerfRow?

    /** Ends the meeting, if all went well. */
    fun part()

    /**
     * The address of a queue pair, and the memory to write, read or add to.
     *
     * @property reads how many reads and atomics of the peer it serves at a time
     */
    data class Place(
        val endpoint: QueuePairEndpoint,
        val memory: RemoteMemory,
        val reads: Int,
    )
}
