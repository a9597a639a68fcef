package org.kverbs.embedded

import org.kverbs.embedded.internal.device.Link
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import java.lang.foreign.Arena

/** Takes what the device sends, looks at it, and loses it. */
internal class FuzzLink(
    private val mayBeRead: (address: Long, bytes: Int) -> Boolean,
) : Link {
    var sent = 0L
        private set

    /** How many more packets may be sent; one too many fails on the spot, so that an endless loop ends. */
    var allowed = Long.MAX_VALUE
    private val wire = Arena.ofAuto().allocate(Packet.BUFFER_SIZE.toLong(), 8)

    override fun open() = 0

    override fun send(packet: Packet) {
        sent++
        check(allowed-- > 0) { "more packets were sent than one packet or one event may cause" }
        PacketCodec.encode(packet, wire.address())
        val isData = packet.opcode in Opcode.RC_READ_RESPONSE_FIRST..Opcode.RC_READ_RESPONSE_ONLY && packet.payloadLength > 0
        check(!isData || mayBeRead(packet.payload, packet.payloadLength)) { "bytes were sent that no peer may read" }
    }

    override fun leadsTo(
        gidHigh: Long,
        gidLow: Long,
    ) = true

    override fun isUsualTo(
        gidHigh: Long,
        gidLow: Long,
    ) = true

    override fun carriesWholeMessages() = false

    override fun window() = WINDOW

    override fun look(waits: Boolean) = Unit

    override fun joinGroup(
        gidHigh: Long,
        gidLow: Long,
    ) = 0

    override fun leaveGroup(
        gidHigh: Long,
        gidLow: Long,
    ) = Unit

    override fun close() = Unit

    companion object {
        const val WINDOW = 16
    }
}
