package org.kverbs.coroutines

import java.nio.ByteBuffer
import java.util.Locale

/**
 * Tells the other side of a [MessageChannel] the limits of this side before the first message: 24 bytes in network byte
 * order.
 *
 * ```
 *  0  magic "kvMC"
 *  4  version, 2 bytes
 *  6  receive slots, 2 bytes
 *  8  bytes of a slot, 4 bytes
 * 12  zero, 4 bytes
 * 16 the longest message that this side takes, 8 bytes
 * ```
 */
internal data class ChannelHello(
    val receiveSlots: Int,
    val slotSize: Int,
    val maxMessage: Long,
) {
    fun toBytes(): ByteArray =
        ByteBuffer
            .allocate(BYTES)
            .putInt(MAGIC)
            .putShort(VERSION)
            .putShort(receiveSlots.toShort())
            .putInt(slotSize)
            .putInt(0)
            .putLong(maxMessage)
            .array()

    companion object {
        const val BYTES = 24
        private const val MAGIC = 0x6b764d43
        private const val VERSION: Short = 3

        /**
         * Parses a peer's hello. Ignores further bytes: connection managers pad private data with zeros.
         *
         * @throws ChannelProtocolException if the bytes are not a hello of this version
         */
        fun parse(bytes: ByteArray): ChannelHello {
            if (bytes.size < BYTES) throw foreign("it has ${bytes.size} bytes and not $BYTES")
            val buffer = ByteBuffer.wrap(bytes)
            val magic = buffer.getInt()
            if (magic != MAGIC) throw foreign("it begins with 0x%08x and not 0x%08x".format(Locale.ROOT, magic, MAGIC))
            val version = buffer.getShort()
            if (version != VERSION) {
                throw foreign("it is of version $version, this side of $VERSION; use the same kverbs on both")
            }
            val slots = buffer.getShort().toInt()
            val slotSize = buffer.getInt()
            buffer.getInt()
            val maxMessage = buffer.getLong()
            if (slots !in 1..4096) throw foreign("it tells of $slots receive slots; 1 to 4096 are possible")
            if (slotSize !in
                256..(1 shl 20)
            ) {
                throw foreign("it tells of slots of $slotSize bytes; 256 to 1048576 are possible")
            }
            if (maxMessage < 1) throw foreign("the longest message that it takes has $maxMessage bytes")
            return ChannelHello(slots, slotSize, maxMessage)
        }

        private fun foreign(what: String) =
            ChannelProtocolException("the peer's hello isn't one of a kverbs message channel: $what")
    }
}
