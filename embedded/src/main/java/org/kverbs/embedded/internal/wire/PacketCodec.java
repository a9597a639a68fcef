package org.kverbs.embedded.internal.wire;

import org.kverbs.internal.memory.Memory;

/**
 * Converts a packet to and from the bytes of the UDP payload, without the ICRC: BTH, extended headers, payload, pad.
 * IBA volume 1, chapter 9; annex A17 for UDP. Neither direction allocates.
 *
 * <p>Reserved bits and FECN are sent as zero and ignored on arrival, and so is BECN, which only a CNP has.
 */
public final class PacketCodec {

    /** The largest path MTU. */
    public static final int MAX_PAYLOAD = 4096;

    private static final int SOLICITED = 0x80;
    private static final int MIGRATED = 0x40;
    private static final int PAD_SHIFT = 4;
    private static final int PAD_MASK = 3;
    private static final int VERSION_MASK = 0x0f;
    private static final int ACK_REQUEST = 0x80;
    private static final int BECN = 0x40 << 24;
    private static final int LOW_24 = 0xffffff;

    private PacketCodec() {}

    /** Returns the length of a packet that {@link #encode} takes, as that returns it. */
    public static int length(Packet p) {
        int length = p.payloadLength;
        return Opcode.headerLength(p.opcode) + length + (-length & PAD_MASK);
    }

    /**
     * Writes the packet. A payload that already lies at its place stays there; all headers are written after the
     * payload.
     *
     * @param at address of at least {@link Packet#BUFFER_SIZE} bytes
     * @return the length in bytes, a multiple of 4; the ICRC's 4 bytes must follow
     * @throws IllegalArgumentException if no such packet can be sent: the opcode is unknown, or the payload is longer
     *     than 4096 bytes, or the opcode takes no payload
     */
    public static int encode(Packet p, long at) {
        int opcode = p.opcode;
        int length = p.payloadLength;
        if (!Opcode.known(opcode) || length < 0 || length > (Opcode.hasPayload(opcode) ? MAX_PAYLOAD : 0)) {
            throw new IllegalArgumentException("no RoCEv2 packet has opcode 0x%02x and %d bytes of payload: "
                    .formatted(opcode, length) + "use a known opcode, and split the message at the path MTU of at"
                            + " most 4096 bytes");
        }
        int headers = Opcode.headerLength(opcode);
        int pad = -length & PAD_MASK;
        if (length > 0) {
            Memory.copy(p.payload, at + headers, length);
            for (int i = 0; i < pad; i++) {
                NetworkOrder.putByte(at + headers + length + i, 0);
            }
        }
        int flags = (p.solicited ? SOLICITED : 0) | (p.migrated ? MIGRATED : 0) | pad << PAD_SHIFT;
        NetworkOrder.putLong(at, (long) (opcode << 24 | flags << 16 | p.pkey & 0xffff) << 32
                | p.destinationQp & LOW_24 | (opcode == Opcode.CNP ? BECN : 0));
        NetworkOrder.putInt(at + 8, p.psn & LOW_24 | (p.ackRequest ? ACK_REQUEST << 24 : 0));
        long next = at + Opcode.BTH_LENGTH;
        if (opcode == Opcode.CNP) {
            NetworkOrder.putLong(next, 0);
            NetworkOrder.putLong(next + 8, 0);
        }
        if (Opcode.hasDeth(opcode)) {
            NetworkOrder.putInt(next, p.qkey);
            NetworkOrder.putInt(next + 4, p.sourceQp & LOW_24);
            next += Opcode.DETH_LENGTH;
        }
        if (Opcode.hasXrcEth(opcode)) {
            NetworkOrder.putInt(next, p.sharedQueue & LOW_24);
            next += Opcode.XRCETH_LENGTH;
        }
        if (Opcode.hasFeth(opcode)) {
            NetworkOrder.putInt(next, p.placement);
            next += Opcode.FETH_LENGTH;
        }
        if (Opcode.hasReth(opcode)) {
            NetworkOrder.putLong(next, p.remoteAddress);
            NetworkOrder.putLong(next + 8, (long) p.rkey << 32 | Integer.toUnsignedLong(p.dmaLength));
            next += Opcode.RETH_LENGTH;
        }
        if (Opcode.hasAtomicEth(opcode)) {
            NetworkOrder.putLong(next, p.remoteAddress);
            NetworkOrder.putInt(next + 8, p.rkey);
            NetworkOrder.putLong(next + 12, p.swapOrAdd);
            NetworkOrder.putLong(next + 20, p.compare);
        }
        if (Opcode.hasAeth(opcode)) {
            NetworkOrder.putInt(next, p.syndrome << 24 | p.msn & LOW_24);
            next += Opcode.AETH_LENGTH;
        }
        if (Opcode.hasAtomicAck(opcode)) {
            NetworkOrder.putLong(next, p.originalValue);
        }
        if (Opcode.hasImmediate(opcode) || Opcode.hasInvalidate(opcode)) {
            NetworkOrder.putInt(next, p.immediate);
        }
        return headers + length + pad;
    }

    /**
     * Reads a packet from a stranger. Header fields that the opcode does not have keep their values. The payload is not
     * copied. The caller, which knows the MTU, must check whether a packet of this length may have this opcode (IBA
     * volume 1, 9.6).
     *
     * @param at address of the BTH
     * @param length bytes without the ICRC; no byte behind them is read
     * @return false if the packet is malformed; the fields are then undefined
     */
    public static boolean decode(Packet p, long at, int length) {
        if (length < Opcode.BTH_LENGTH) {
            return false;
        }
        long first = NetworkOrder.getLong(at);
        int opcode = (int) (first >>> 56);
        int flags = (int) (first >>> 48);
        int headers = Opcode.headerLength(opcode);
        int rest = length - headers;
        int payload = rest - (flags >> PAD_SHIFT & PAD_MASK);
        if (!Opcode.known(opcode) || (flags & VERSION_MASK) != 0 || (length & 3) != 0) {
            return false;
        }
        if (payload < 0 || payload > MAX_PAYLOAD || (rest != 0 && !Opcode.hasPayload(opcode))) {
            return false;
        }
        p.opcode = opcode;
        p.solicited = (flags & SOLICITED) != 0;
        p.migrated = (flags & MIGRATED) != 0;
        p.pkey = (int) (first >>> 32) & 0xffff;
        p.destinationQp = (int) first & LOW_24;
        int last = NetworkOrder.getInt(at + 8);
        p.ackRequest = (last & ACK_REQUEST << 24) != 0;
        p.psn = last & LOW_24;
        p.psnCount = 1;
        p.payload = at + headers;
        p.payloadLength = payload;
        decodeExtended(p, opcode, at + Opcode.BTH_LENGTH);
        return true;
    }

    private static void decodeExtended(Packet p, int opcode, long from) {
        long next = from;
        if (Opcode.hasDeth(opcode)) {
            p.qkey = NetworkOrder.getInt(next);
            p.sourceQp = NetworkOrder.getInt(next + 4) & LOW_24;
            next += Opcode.DETH_LENGTH;
        }
        if (Opcode.hasXrcEth(opcode)) {
            p.sharedQueue = NetworkOrder.getInt(next) & LOW_24;
            next += Opcode.XRCETH_LENGTH;
        }
        if (Opcode.hasFeth(opcode)) {
            p.placement = NetworkOrder.getInt(next);
            next += Opcode.FETH_LENGTH;
        }
        if (Opcode.hasReth(opcode)) {
            p.remoteAddress = NetworkOrder.getLong(next);
            long rest = NetworkOrder.getLong(next + 8);
            p.rkey = (int) (rest >>> 32);
            p.dmaLength = (int) rest;
            next += Opcode.RETH_LENGTH;
        }
        if (Opcode.hasAtomicEth(opcode)) {
            p.remoteAddress = NetworkOrder.getLong(next);
            p.rkey = NetworkOrder.getInt(next + 8);
            p.swapOrAdd = NetworkOrder.getLong(next + 12);
            p.compare = NetworkOrder.getLong(next + 20);
        }
        if (Opcode.hasAeth(opcode)) {
            int word = NetworkOrder.getInt(next);
            p.syndrome = word >>> 24;
            p.msn = word & LOW_24;
            next += Opcode.AETH_LENGTH;
        }
        if (Opcode.hasAtomicAck(opcode)) {
            p.originalValue = NetworkOrder.getLong(next);
        }
        if (Opcode.hasImmediate(opcode) || Opcode.hasInvalidate(opcode)) {
            p.immediate = NetworkOrder.getInt(next);
        }
    }
}
