package org.kverbs.management.transport

import org.kverbs.ProtectionDomain
import org.kverbs.WorkCompletion
import org.kverbs.attributes.PortAttributes
import org.kverbs.management.path.LidPath
import org.kverbs.structures.Lid
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.nio.ByteBuffer

/** The bytes before each datagram: the global routing header, or the IP header that stands for it. */
internal const val GRH_SIZE = 40

private const val LIMIT = 256
private const val VERSION_AND_CLASS_AND_FLOW = 4
private const val HOP_LIMIT_AT = 7
private const val GIDS_AT = 8
private const val IPV4_AT = 20
private const val IPV4_CLASS_AT = IPV4_AT + 1
private const val IPV4_HOP_LIMIT_AT = IPV4_AT + 8
private const val IPV4_ADDRESSES_AT = IPV4_AT + 12
private const val NUMBERS = 3
private const val NIBBLE = 4
private const val IPV6 = 6

/**
 * The paths to the senders of datagrams. The library looks through the table of GIDs to find one, so that the last
 * [LIMIT] are kept. One thread at a time uses it.
 */
internal class UdSenders(
    private val pd: ProtectionDomain,
    private val port: Int,
    private val partitionKey: Int,
    private val own: () -> PortAttributes,
) {
    private val known =
        object : LinkedHashMap<ByteBuffer, LidPath>(16, 0.75f, true) {
            override fun removeEldestEntry(eldest: Map.Entry<ByteBuffer, LidPath>) = size > LIMIT
        }

    /** Returns the path to the sender of a datagram, whose first 40 bytes are [header]. */
    fun path(
        completion: WorkCompletion,
        header: MemorySegment,
    ): LidPath {
        val key = key(completion, header)
        val path = known[key] ?: ask(completion, header).also { known[key] = it }
        return path.copy(destinationQueuePair = completion.sourceQueuePair())
    }

    private fun ask(
        completion: WorkCompletion,
        header: MemorySegment,
    ): LidPath {
        val from = pd.addressOf(port, completion, header)
        val lid = Lid(from.destinationLid())
        return LidPath(
            if (lid.isUnicast) lid else Lid(1),
            source = asked(completion.destinationPathBits()),
            serviceLevel = from.serviceLevel(),
            partitionKey = partitionKey,
            globalRoute = from.globalRoute(),
        )
    }

    /** The LID that was asked, if the port has several, and it was not the first. */
    private fun asked(pathBits: Int): Lid? {
        if (pathBits == 0) return null
        val port = own()
        return further(port.lid(), port.lmc(), pathBits)
    }

    /** All that tells one sender from another: not the lengths, numbers and checksums of a packet. */
    private fun key(
        completion: WorkCompletion,
        header: MemorySegment,
    ): ByteBuffer {
        val key = ByteBuffer.allocate(NUMBERS * Int.SIZE_BYTES + GRH_SIZE + 1)
        key.putInt(completion.sourceLid()).putInt(completion.serviceLevel()).putInt(completion.destinationPathBits())
        if (completion.hasGrh()) {
            if (header.get(JAVA_BYTE, 0).toInt() and 0xff shr NIBBLE == IPV6) {
                key.put(header, 0, VERSION_AND_CLASS_AND_FLOW).put(header, HOP_LIMIT_AT, 1)
                key.put(header, GIDS_AT, GRH_SIZE - GIDS_AT)
            } else {
                key.put(header, IPV4_CLASS_AT, 1).put(header, IPV4_HOP_LIMIT_AT, 1)
                key.put(header, IPV4_ADDRESSES_AT, GRH_SIZE - IPV4_ADDRESSES_AT)
            }
        }
        return key.flip()
    }

    private fun ByteBuffer.put(
        from: MemorySegment,
        at: Int,
        length: Int,
    ): ByteBuffer = put(from.asSlice(at.toLong(), length.toLong()).asByteBuffer())
}

/** The LID of a port with these low bits, as far as the port chooses by them; null if it is the first one. */
internal fun further(
    first: Int,
    lmc: Int,
    pathBits: Int,
): Lid? {
    val bits = pathBits and (1 shl lmc) - 1
    return Lid(first or bits).takeIf { bits != 0 && it.isUnicast }
}
