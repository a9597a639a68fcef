package org.kverbs.embedded.internal.wire;

import org.kverbs.internal.abi.IbvGrh;

/**
 * Reads and writes the 40 bytes before a received datagram: the IPv6 header of the packet, or its IPv4 header in the
 * last 20 bytes (IBA annex A17.4.5.2).
 */
public final class Grh {

    private static final int V4 = 20;
    private static final int UDP = 17;
    private static final int UDP_HEADER = 8;
    private static final int ICRC = 4;

    private Grh() {}

    /** Writes the header of a packet. */
    public static void write(Packet packet, long at) {
        int bytes = UDP_HEADER + Opcode.headerLength(packet.opcode) + (packet.payloadLength + 3 & ~3) + ICRC;
        boolean v4 = packet.sourceGidHigh == 0 && packet.sourceGidLow >>> 32 == 0xffff;
        if (!v4) {
            NetworkOrder.putInt(at, 6 << 28 | packet.trafficClass << 20 | packet.flowLabel);
            NetworkOrder.putShort(at + IbvGrh.PAYLEN, bytes);
            NetworkOrder.putByte(at + IbvGrh.NEXT_HDR, UDP);
            NetworkOrder.putByte(at + IbvGrh.HOP_LIMIT, packet.hopLimit);
            NetworkOrder.putLong(at + IbvGrh.SGID, packet.sourceGidHigh);
            NetworkOrder.putLong(at + IbvGrh.SGID + 8, packet.sourceGidLow);
            NetworkOrder.putLong(at + IbvGrh.DGID, packet.destinationGidHigh);
            NetworkOrder.putLong(at + IbvGrh.DGID + 8, packet.destinationGidLow);
            return;
        }
        for (int i = 0; i < V4; i += 4) {
            NetworkOrder.putInt(at + i, 0);
        }
        long header = at + V4;
        NetworkOrder.putInt(header, 0x45 << 24 | packet.trafficClass << 16 | V4 + bytes);
        NetworkOrder.putInt(header + 4, 0x4000); // identification 0, don't fragment
        NetworkOrder.putInt(header + 8, packet.hopLimit << 24 | UDP << 16);
        NetworkOrder.putInt(header + 12, (int) packet.sourceGidLow);
        NetworkOrder.putInt(header + 16, (int) packet.destinationGidLow);
        NetworkOrder.putShort(header + 10, checksum(header));
    }

    /**
     * Reads the addresses of a header that {@link #write} or another device wrote. Returns false if it is not a header.
     */
    public static boolean read(Packet packet, long at) {
        long header = at + V4;
        // An IPv4 header is recognised by its checksum, as libibverbs does, since the first 20 bytes may hold anything.
        if (NetworkOrder.getByte(header) == 0x45 && checksum(header) == 0) {
            packet.trafficClass = NetworkOrder.getByte(header + 1);
            packet.hopLimit = NetworkOrder.getByte(header + 8);
            packet.flowLabel = 0;
            packet.sourceGidHigh = 0;
            packet.sourceGidLow = 0xffffL << 32 | Integer.toUnsignedLong(NetworkOrder.getInt(header + 12));
            packet.destinationGidHigh = 0;
            packet.destinationGidLow = 0xffffL << 32 | Integer.toUnsignedLong(NetworkOrder.getInt(header + 16));
            return true;
        }
        int word = NetworkOrder.getInt(at);
        packet.trafficClass = word >>> 20 & 0xff;
        packet.flowLabel = word & 0xfffff;
        packet.hopLimit = NetworkOrder.getByte(at + IbvGrh.HOP_LIMIT);
        packet.sourceGidHigh = NetworkOrder.getLong(at + IbvGrh.SGID);
        packet.sourceGidLow = NetworkOrder.getLong(at + IbvGrh.SGID + 8);
        packet.destinationGidHigh = NetworkOrder.getLong(at + IbvGrh.DGID);
        packet.destinationGidLow = NetworkOrder.getLong(at + IbvGrh.DGID + 8);
        return word >>> 28 == 6;
    }

    /** Returns the Internet checksum (RFC 1071) of 20 bytes; 0 if they contain their right checksum. */
    private static int checksum(long header) {
        int sum = 0;
        for (int i = 0; i < V4; i += 2) {
            sum += NetworkOrder.getShort(header + i);
        }
        sum = (sum & 0xffff) + (sum >>> 16);
        return ~(sum + (sum >>> 16)) & 0xffff;
    }
}
