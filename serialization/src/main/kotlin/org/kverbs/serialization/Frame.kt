package org.kverbs.serialization

import kotlin.time.Duration

/** The longest name of a method, in bytes. */
internal const val MAX_NAME = 200

/** The longest text of a failure, in characters; a longer one is cut. */
internal const val MAX_FAILURE = 1000

/**
 * A frame of the request protocol; one frame is one message. Each side numbers its own requests. The other side ends
 * each of them with exactly one [Answer], [End] or [Failure], even after [Cancel].
 */
internal sealed interface Frame {
    /** The first frame of each side: the number of requests that the peer can have under way. */
    class Hello(
        val maxInFlight: Int,
    ) : Frame

    /**
     * Begins a request for one answer, or with [credits] above 0 for a stream. [credits] is the number of items that
     * can come at first.
     */
    class Request(
        val id: Long,
        val method: String,
        val timeout: Duration,
        val credits: Int,
        val payload: ByteArray,
    ) : Frame

    /** Tells the peer that the requester no longer waits. */
    class Cancel(
        val id: Long,
    ) : Frame

    /** Lets the peer send [count] further items. */
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
        /** The ordinals are the numbers in the frame. */
        enum class Kind { FAILED, TIMED_OUT, CANCELLED }
    }
}
