package org.kverbs.embedded

import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import java.lang.foreign.Arena

/** Takes the packets that the device sends, checks them, and drops them. */
internal class FuzzLink(
    private val mayBeRead: (address: Long, bytes: Int) -> Boolean,
) : OpenLink(WINDOW) {
    var sent = 0L
        private set

    /** How many more packets may be sent; a further one fails at once, so that an endless loop ends. */
    var allowed = Long.MAX_VALUE
    private val wire = Arena.ofAuto().allocate(Packet.BUFFER_SIZE.toLong(), 8)

    override fun send(packet: Packet) {
        sent++
        check(allowed-- > 0) { "more packets were sent than one packet or one event may cause" }
        PacketCodec.encode(packet, wire.address())
        val isData =
            packet.opcode in Opcode.RC_READ_RESPONSE_FIRST..Opcode.RC_READ_RESPONSE_ONLY && packet.payloadLength > 0
        check(!isData || mayBeRead(packet.payload, packet.payloadLength)) { "bytes were sent that no peer may read" }
    }

    companion object {
        const val WINDOW = 16
    }
}
