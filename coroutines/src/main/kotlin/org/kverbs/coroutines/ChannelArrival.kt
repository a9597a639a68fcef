package org.kverbs.coroutines

/** A message of the user that came or was announced. */
internal class ChannelArrival(
    /** Bytes. */
    val length: Long,
    /** The message, or null while it is being fetched out of the peer's memory. Guarded by the inbox. */
    var bytes: ByteArray?,
    /** What it takes of [ChannelFetches.budget]. */
    val budget: Int = 0,
) {
    constructor(bytes: ByteArray) : this(bytes.size.toLong(), bytes)
}
