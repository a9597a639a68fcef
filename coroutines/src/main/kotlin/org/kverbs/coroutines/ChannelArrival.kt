package org.kverbs.coroutines

/** A message for the program that has arrived, or that the peer has announced. */
internal class ChannelArrival(
    /** Bytes. */
    val length: Long,
    /** The message; null while it is being read from the peer's memory. The inbox's lock guards it. */
    var bytes: ByteArray?,
    /** Bytes of [ChannelFetches.budget] that the message holds. */
    val budget: Int = 0,
) {
    constructor(bytes: ByteArray) : this(bytes.size.toLong(), bytes)
}
