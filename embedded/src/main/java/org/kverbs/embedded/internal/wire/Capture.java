package org.kverbs.embedded.internal.wire;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.kverbs.internal.memory.Memory;

/**
 * Writes packets to a classic pcap file, each from its IP header on (LINKTYPE_RAW), as on a wire: with complete
 * headers, right checksums and the ICRC. Not thread-safe. Closing it closes the stream.
 */
public final class Capture implements AutoCloseable {

    /** pcap with nanoseconds. The magic number's byte order is that of the whole file: most significant byte first. */
    private static final int MAGIC = 0xa1b23c4d;
    private static final int VERSION = 2 << 16 | 4;
    private static final int LINKTYPE_RAW = 101;
    private static final int RECORD_HEADER = 16;
    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;
    private static final int UDP_PROTOCOL = 17;
    private static final long NANOS = 1_000_000_000L;
    /** The bits above an IPv4 address in a GID. */
    private static final long MAPPED = 0xffffL;
    /** The first source port of annex A17. */
    private static final int ANY_PORT = 0xc000;

    private final OutputStream out;
    private final MemorySegment frame = Arena.ofAuto()
            .allocate(RECORD_HEADER + IPV6_HEADER + UDP_HEADER + Packet.BUFFER_SIZE, 8);
    private final Icrc icrc = new Icrc();

    /** Writes the file's header. */
    public Capture(OutputStream out) throws IOException {
        this.out = out;
        long at = frame.address();
        NetworkOrder.putInt(at, MAGIC);
        NetworkOrder.putInt(at + 4, VERSION);
        NetworkOrder.putLong(at + 8, 0);
        NetworkOrder.putInt(at + 16, 1 << 16);
        NetworkOrder.putInt(at + 20, LINKTYPE_RAW);
        write(24);
    }

    /**
     * Adds a packet: over IPv4 if both its GIDs are IPv4 addresses, else over IPv6.
     *
     * @param nanos its time, in nanoseconds since 1970
     * @throws IllegalArgumentException if {@link PacketCodec#encode} refuses the packet, for example because it is
     *     longer than any MTU
     */
    public void write(Packet p, long nanos) throws IOException {
        finish(p, PacketCodec.encode(p, bth(p)), 0, nanos);
    }

    /**
     * Adds a damaged packet: its bytes as they arrived, with an ICRC that does not fit them.
     *
     * @param addresses a packet with the addresses
     * @param bytes the address of the BTH and all that follows it up to the ICRC, which is the 4 bytes behind
     * @param difference the exclusive or of the packet's ICRC and the right one; not 0
     */
    public void writeDamaged(Packet addresses, long bytes, int length, int difference, long nanos) throws IOException {
        Memory.copy(bytes, bth(addresses), length);
        finish(addresses, length, difference, nanos);
    }

    private static boolean isV4(Packet p) {
        return isV4(p.sourceGidHigh, p.sourceGidLow) && isV4(p.destinationGidHigh, p.destinationGidLow);
    }

    /** Returns the address at which a packet's BTH stands. */
    private long bth(Packet p) {
        return frame.address() + RECORD_HEADER + (isV4(p) ? IPV4_HEADER : IPV6_HEADER) + UDP_HEADER;
    }

    /** Writes the headers and the ICRC around the bytes from the BTH on, and writes the frame. */
    private void finish(Packet p, int length, int difference, long nanos) throws IOException {
        long ip = frame.address() + RECORD_HEADER;
        boolean v4 = isV4(p);
        long bth = bth(p);
        long udp = bth - UDP_HEADER;
        int port = p.sourcePort != 0 ? p.sourcePort : ANY_PORT;
        int udpLength = UDP_HEADER + length + Icrc.LENGTH;
        int right = v4
                ? icrc.ofV4((int) p.sourceGidLow, (int) p.destinationGidLow, Icrc.DONT_FRAGMENT, port, Icrc.UDP_PORT,
                        bth, length)
                : icrc.ofV6(p.sourceGidHigh, p.sourceGidLow, p.destinationGidHigh, p.destinationGidLow,
                        port, Icrc.UDP_PORT, bth, length);
        Icrc.put(bth + length, right ^ difference);
        NetworkOrder.putShort(udp, port);
        NetworkOrder.putShort(udp + 2, Icrc.UDP_PORT);
        NetworkOrder.putShort(udp + 4, udpLength);
        NetworkOrder.putShort(udp + 6, 0);
        long addresses;
        if (v4) {
            putV4(p, ip, udpLength);
            addresses = ip + 12;
        } else {
            putV6(p, ip, udpLength);
            addresses = ip + 8;
        }
        // The checksum covers the addresses, the protocol and the UDP length before the UDP header. The addresses stand
        // right before it.
        int checksum = checksum(addresses, udp + udpLength, UDP_PROTOCOL + udpLength);
        NetworkOrder.putShort(udp + 6, checksum != 0 ? checksum : 0xffff);
        int frameLength = (int) (udp - ip) + udpLength;
        long record = frame.address();
        NetworkOrder.putInt(record, (int) (nanos / NANOS));
        NetworkOrder.putInt(record + 4, (int) (nanos % NANOS));
        NetworkOrder.putInt(record + 8, frameLength);
        NetworkOrder.putInt(record + 12, frameLength);
        write(RECORD_HEADER + frameLength);
    }

    @Override
    public void close() throws IOException {
        out.close();
    }

    private static boolean isV4(long high, long low) {
        return high == 0 && low >>> 32 == MAPPED;
    }

    private static void putV4(Packet p, long ip, int udpLength) {
        NetworkOrder.putByte(ip, 0x45);
        NetworkOrder.putByte(ip + 1, p.trafficClass);
        NetworkOrder.putShort(ip + 2, IPV4_HEADER + udpLength);
        NetworkOrder.putInt(ip + 4, Icrc.DONT_FRAGMENT);
        NetworkOrder.putByte(ip + 8, p.hopLimit);
        NetworkOrder.putByte(ip + 9, UDP_PROTOCOL);
        NetworkOrder.putShort(ip + 10, 0);
        NetworkOrder.putInt(ip + 12, (int) p.sourceGidLow);
        NetworkOrder.putInt(ip + 16, (int) p.destinationGidLow);
        NetworkOrder.putShort(ip + 10, checksum(ip, ip + IPV4_HEADER, 0));
    }

    private static void putV6(Packet p, long ip, int udpLength) {
        NetworkOrder.putInt(ip, 6 << 28 | (p.trafficClass & 0xff) << 20 | p.flowLabel & 0xfffff);
        NetworkOrder.putShort(ip + 4, udpLength);
        NetworkOrder.putByte(ip + 6, UDP_PROTOCOL);
        NetworkOrder.putByte(ip + 7, p.hopLimit);
        NetworkOrder.putLong(ip + 8, p.sourceGidHigh);
        NetworkOrder.putLong(ip + 16, p.sourceGidLow);
        NetworkOrder.putLong(ip + 24, p.destinationGidHigh);
        NetworkOrder.putLong(ip + 32, p.destinationGidLow);
    }

    /** Returns the Internet checksum (RFC 1071) of an even number of bytes, added to the sum of other bytes. */
    private static int checksum(long from, long end, int known) {
        int sum = known;
        for (long at = from; at < end; at += 2) {
            sum += NetworkOrder.getShort(at);
        }
        sum = (sum & 0xffff) + (sum >>> 16);
        return ~((sum & 0xffff) + (sum >>> 16)) & 0xffff;
    }

    private void write(int length) throws IOException {
        out.write(frame.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE));
    }
}
