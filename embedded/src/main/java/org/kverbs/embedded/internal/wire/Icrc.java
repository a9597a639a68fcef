package org.kverbs.embedded.internal.wire;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.kverbs.internal.ffm.Memory;

/**
 * The invariant CRC of RoCEv2 (annex A17; IBA volume 1, 7.8): the CRC-32 of Ethernet over 8 bytes of ones, the IP and UDP headers, and the
 * UDP payload, where all that a router may change counts as ones: in IPv4 type of service, time to live and checksum, in IPv6
 * traffic class, flow label and hop limit, the UDP checksum, and byte 4 of the BTH. On the wire it follows the payload, lowest byte first.
 *
 * <p>A packet is copied to a scratch buffer and summed there in one call, which the JVM has as an intrinsic: many times as fast as tables.
 * Nothing is allocated per packet. Not thread-safe: one for each thread, or under a lock.
 */
public final class Icrc {

    /** Bytes of the ICRC; they count in the lengths of IP and UDP. */
    public static final int LENGTH = 4;
    /** Where RoCEv2 listens (annex A17). */
    public static final int UDP_PORT = 4791;
    /** The word of IPv4's flags and fragment offset in a packet that must not be cut up: what RoCEv2 sends. */
    public static final int DONT_FRAGMENT = 0x4000;

    private static final int ONES = 8;
    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;
    private static final int UDP_PROTOCOL = 17;
    /** Where BTH byte 4 is. */
    private static final int RESERVED_8A = 4;
    /** Bytes that follow IPv4's identification up to the UDP payload. */
    private static final int AFTER_IDENTIFICATION = IPV4_HEADER - 6 + UDP_HEADER;

    private static final int ROOM = ONES + IPV6_HEADER + UDP_HEADER + Packet.BUFFER_SIZE;

    private final ByteBuffer scratch = ByteBuffer.allocateDirect(ROOM);
    private final long start = MemorySegment.ofBuffer(scratch).address();
    private final CRC32 crc = new CRC32();

    /**
     * The ICRC of a packet over IPv4.
     *
     * @param source the address as a number, 10.0.0.1 being 0x0a000001
     * @param identification IPv4's identification in the upper 16 bits, flags and fragment offset below
     * @param at address of the UDP payload
     * @param length its bytes without the ICRC, from 12 to {@link Packet#BUFFER_SIZE}
     */
    public int ofV4(int source, int destination, int identification, int sourcePort, int destinationPort, long at, int length) {
        long ip = begin();
        NetworkOrder.putByte(ip, 0x45);
        NetworkOrder.putByte(ip + 1, 0xff);
        NetworkOrder.putShort(ip + 2, IPV4_HEADER + UDP_HEADER + length + LENGTH);
        NetworkOrder.putInt(ip + 4, identification);
        NetworkOrder.putByte(ip + 8, 0xff);
        NetworkOrder.putByte(ip + 9, UDP_PROTOCOL);
        NetworkOrder.putShort(ip + 10, 0xffff);
        NetworkOrder.putInt(ip + 12, source);
        NetworkOrder.putInt(ip + 16, destination);
        return finish(ip + IPV4_HEADER, sourcePort, destinationPort, at, length);
    }

    /** The ICRC of a packet over IPv6, the addresses as halves; otherwise as {@link #ofV4}. */
    public int ofV6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        long ip = begin();
        NetworkOrder.putInt(ip, 0x6fffffff);
        NetworkOrder.putShort(ip + 4, UDP_HEADER + length + LENGTH);
        NetworkOrder.putByte(ip + 6, UDP_PROTOCOL);
        NetworkOrder.putByte(ip + 7, 0xff);
        NetworkOrder.putLong(ip + 8, sourceHigh);
        NetworkOrder.putLong(ip + 16, sourceLow);
        NetworkOrder.putLong(ip + 24, destinationHigh);
        NetworkOrder.putLong(ip + 32, destinationLow);
        return finish(ip + IPV6_HEADER, sourcePort, destinationPort, at, length);
    }

    /**
     * Whether the ICRC that follows the payload is right for some identification, which a UDP socket does not show, with
     * {@link #DONT_FRAGMENT}. One in 65,536 damaged packets gets through.
     */
    public boolean v4Fits(int source, int destination, int sourcePort, int destinationPort, long at, int length) {
        if (tooShortOrLong(length)) {
            return false;
        }
        int difference = get(at + length) ^ ofV4(source, destination, DONT_FRAGMENT, sourcePort, destinationPort, at, length);
        return difference == 0 || Crc32Algebra.isOfTwoBytes(difference, AFTER_IDENTIFICATION + length);
    }

    /** Whether the ICRC that follows the payload is right. */
    public boolean v6Fits(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        return !tooShortOrLong(length)
                && get(at + length) == ofV6(sourceHigh, sourceLow, destinationHigh, destinationLow, sourcePort, destinationPort, at, length);
    }

    /** Writes an ICRC to where it belongs, behind the payload. */
    public static void put(long at, int icrc) {
        NetworkOrder.putInt(at, Integer.reverseBytes(icrc));
    }

    /** Reads an ICRC. */
    public static int get(long at) {
        return Integer.reverseBytes(NetworkOrder.getInt(at));
    }

    private static boolean tooShortOrLong(int length) {
        return length < Opcode.BTH_LENGTH || length > Packet.BUFFER_SIZE;
    }

    /** Where the IP header is to be. */
    private long begin() {
        Memory.putLong(start, -1);
        return start + ONES;
    }

    private int finish(long udp, int sourcePort, int destinationPort, long at, int length) {
        if (tooShortOrLong(length)) {
            throw new IllegalArgumentException("ICRC of " + length + " bytes: a RoCEv2 packet has from 12 to " + Packet.BUFFER_SIZE);
        }
        NetworkOrder.putShort(udp, sourcePort);
        NetworkOrder.putShort(udp + 2, destinationPort);
        NetworkOrder.putShort(udp + 4, UDP_HEADER + length + LENGTH);
        NetworkOrder.putShort(udp + 6, 0xffff);
        long bth = udp + UDP_HEADER;
        Memory.copy(at, bth, length);
        NetworkOrder.putByte(bth + RESERVED_8A, 0xff);
        crc.reset();
        crc.update(scratch.limit((int) (bth - start) + length).position(0));
        return (int) crc.getValue();
    }
}
