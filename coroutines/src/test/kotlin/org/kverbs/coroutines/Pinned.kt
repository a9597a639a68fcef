package org.kverbs.coroutines

import org.kverbs.MemorySlice
import java.lang.foreign.MemorySegment

/** A buffer that counts its pins. Where [isBroken], memory runs out when it is unpinned. */
internal class Pinned(
    private val isBroken: Boolean,
) : RegisteredBuffer() {
    var pins = 0
        private set

    override val memory: MemorySegment = MemorySegment.NULL

    override fun slice(
        offset: Long,
        length: Long,
    ): MemorySlice = error("nothing is sent")

    override fun part(
        offset: Long,
        length: Long,
    ): MemorySlice = error("nothing is sent")

    override fun pin() {
        pins++
    }

    override fun unpin() {
        pins--
        if (isBroken) throw OutOfMemoryError("planted")
    }

    override fun close() = Unit
}
