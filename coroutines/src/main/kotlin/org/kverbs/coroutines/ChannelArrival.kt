package org.kverbs.coroutines

import org.kverbs.RemoteMemory

/** A message for the program that has arrived, or that the peer has announced. */
internal class ChannelArrival private constructor(
    /** Bytes. */
    val length: Long,
    /** Where a large message lies at the peer; null for a short one. */
    val source: RemoteMemory?,
    /** The number that the peer gave to a large message. */
    val id: Int,
    /**
     * Bytes of [ChannelFetches.budget] that a fetch needs. 0 for a message that was put back: later ones can hold all
     * bytes, and receivers without a buffer would wait for this one. It is fetched only when it is the first, so that
     * the messages of many cancelled receivers are not all held at once.
     */
    @Volatile var budget: Int,
    /** The message; null unless it is [State.HERE]. The inbox's lock guards it and what follows. */
    var bytes: ByteArray?,
    var state: State,
) {
    /** The place of the message among those of the peer. */
    var number = 0L

    /** Bytes of [ChannelFetches.budget] that its fetch holds, until the message has left the inbox. */
    var held = 0

    /** True if [ChannelFetches.begin] was called for it since it was last offered. */
    var isBegun = false

    internal enum class State {
        /** It lies at the peer, and nobody reads it. */
        OFFERED,

        /** The channel reads it into an array. */
        FETCHED,

        /** [bytes] has it. */
        HERE,

        /** It has left the inbox, or a receiver reads it. */
        GONE,
    }

    constructor(bytes: ByteArray) : this(bytes.size.toLong(), null, 0, 0, bytes, State.HERE)

    /** A message that the peer has announced. */
    constructor(source: RemoteMemory, id: Int, budget: Int) : this(
        source.length(),
        source,
        id,
        budget,
        null,
        State.OFFERED,
    )
}
