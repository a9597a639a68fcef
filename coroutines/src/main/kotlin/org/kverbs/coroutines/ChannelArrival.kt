package org.kverbs.coroutines

import org.kverbs.RemoteMemory

/** A message of the user that waits to be received. */
internal sealed class ChannelArrival(
    /** Bytes. */
    val length: Long,
) {
    /** It stands in a receive slot. */
    class Small(
        val slot: Int,
        length: Int,
    ) : ChannelArrival(length.toLong())

    /** It stands in the peer's memory. */
    class Large(
        val id: Int,
        val memory: RemoteMemory,
    ) : ChannelArrival(memory.length())
}
