package org.kverbs.serialization

import kotlin.time.Duration

/** The longest name of a method, in bytes. */
internal const val MAX_NAME = 200

/** The longest text of a failure that is sent, in characters. */
internal const val MAX_FAILURE = 1000

/**
 * What goes over a connection of requests, one frame a message. Each side numbers its own requests. The other side ends
 * each of them by exactly one [Answer], [End] or [Failure], also after [Cancel].
 */
internal sealed interface Frame {
    /** First of each side: how many of its requests the peer may have under way. */
    class Hello(
        val maxInFlight: Int,
    ) : Frame

    /**
     * Begins a request: for one answer, or with [credits] above 0 for a stream of which so many items may come at
     * first.
     */
    class Request(
        val id: Long,
        val method: String,
        val timeout: Duration,
        val credits: Int,
        val payload: ByteArray,
    ) : Frame

    /** The requester does not wait any more. */
    class Cancel(
        val id: Long,
    ) : Frame

    /** The requester takes so many further items. */
    class Credit(
        val id: Long,
        val count: Int,
    ) : Frame

    /** Ends a request for one answer. */
    class Answer(
        val id: Long,
        val payload: ByteArray,
    ) : Frame

    /** One item of a stream. */
    class Item(
        val id: Long,
        val payload: ByteArray,
    ) : Frame

    /** Ends a stream after its last item. */
    class End(
        val id: Long,
    ) : Frame

    /** Ends a request of either kind. */
    class Failure(
        val id: Long,
        val kind: Kind,
        val message: String,
        val remoteClass: String? = null,
    ) : Frame {
        /** Their order is that of the numbers on the wire. */
        enum class Kind { FAILED, TIMED_OUT, CANCELLED }
    }
}
