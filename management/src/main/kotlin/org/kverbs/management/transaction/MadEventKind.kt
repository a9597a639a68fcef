package org.kverbs.management.transaction

/** What can happen to a datagram. */
public enum class MadEventKind {
    /** A request was sent for the first time. */
    SENT,

    /** A request was sent again. */
    RETRIED,

    /** A request got its answer. */
    COMPLETED,

    /** The port asked to try again later. */
    BUSY,

    /** The fabric said that it lost a request. */
    UNDELIVERED,

    /** A long message of a request ended before it was whole. */
    BROKEN,

    /** A request got no answer, and is given up. */
    TIMED_OUT,

    /** The coroutine that waited was cancelled. */
    CANCELLED,

    /** An answer came to a request that is no longer open: it was answered before, given up or cancelled. */
    LATE,

    /** A datagram came that answers no request of this transactor. */
    UNEXPECTED,

    /** A datagram came that has not the length of one. */
    MALFORMED,

    /** A request of another port arrived for a class that is served. */
    REQUESTED,

    /** A request of another port was answered. */
    ANSWERED,
}
