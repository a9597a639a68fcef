package org.kverbs.embedded.internal.wire;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.kverbs.internal.memory.Memory;

/**
 * Computes the invariant CRC of RoCEv2 (annex A17; IBA volume 1, 7.8): the CRC-32 of Ethernet over 8 bytes of ones, the
 * IP and UDP headers, and the UDP payload. Fields that a router may change count as ones: in IPv4 type of service, time
 * to live and checksum, in IPv6 traffic class, flow label and hop limit, the UDP checksum, and byte 4 of the BTH. On
 * the wire the ICRC follows the payload, lowest byte first.
 *
 * <p>All bytes lie in one run, so that one call of the JVM's intrinsic sums them, which is many times faster than
 * tables. A packet with room before it is summed in place; any other packet is copied to a scratch buffer. A packet
 * allocates nothing. Not thread-safe: use one object for each thread, or a lock.
 */
public final class Icrc {

    /** The length of the ICRC in bytes; included in the lengths of IP and UDP. */
    public static final int LENGTH = 4;
    /** The UDP port of RoCEv2 (annex A17). */
    public static final int UDP_PORT = 4791;
    /** IPv4's flags and fragment offset of a packet that must not be fragmented, as RoCEv2 sends it. */
    public static final int DONT_FRAGMENT = 0x4000;

    /** The room before a packet that its headers need when it is summed in place, in bytes. */
    public static final int HEADROOM = 64;

    private static final int IPV4_HEADER = 20;
    private static final int UDP_HEADER = 8;
    private static final int UDP_PROTOCOL = 17;
    /** The offset of byte 4 of the BTH. */
    private static final int RESERVED_8A = 4;
    /** The bytes after IPv4's identification up to the UDP payload. */
    private static final int AFTER_IDENTIFICATION = IPV4_HEADER - 6 + UDP_HEADER;

    private final ByteBuffer memory;
    private final long start;
    private final boolean copies;
    private final CRC32 crc = new CRC32();

    /** Makes an object for packets at any address. */
    public Icrc() {
        this(ByteBuffer.allocateDirect(HEADROOM + Packet.BUFFER_SIZE), true);
    }

    /**
     * Makes an object for packets in this direct buffer only, none of them in its first {@link #HEADROOM} bytes. It
     * overwrites the bytes before a packet.
     */
    public Icrc(ByteBuffer memory) {
        this(memory.duplicate(), false);
    }

    private Icrc(ByteBuffer memory, boolean copies) {
        this.memory = memory.clear();
        this.start = MemorySegment.ofBuffer(memory).address();
        this.copies = copies;
    }

    /**
     * Returns the ICRC of a packet over IPv4.
     *
     * @param source the address as a number, 10.0.0.1 being 0x0a000001
     * @param identification IPv4's identification in the upper 16 bits, flags and fragment offset below
     * @param at address of the UDP payload
     * @param length its bytes without the ICRC, from 12 to {@link Packet#BUFFER_SIZE}
     */
    public int ofV4(int source, int destination, int identification, int sourcePort, int destinationPort, long at,
            int length) {
        long bth = place(at, length);
        long udpLength = (long) length + UDP_HEADER + LENGTH;
        NetworkOrder.putLong(bth - 36, -1);
        NetworkOrder.putLong(bth - 28, 0x45ffL << 48 | IPV4_HEADER + udpLength << 32
                | Integer.toUnsignedLong(identification));
        NetworkOrder.putLong(bth - 20, (0xff00_ffffL | UDP_PROTOCOL << 16) << 32 | Integer.toUnsignedLong(source));
        NetworkOrder.putLong(bth - 12, (long) destination << 32
                | Integer.toUnsignedLong(sourcePort << 16 | destinationPort));
        NetworkOrder.putInt(bth - 4, (int) udpLength << 16 | 0xffff);
        return sum(bth, 36, length);
    }

    /** Returns the ICRC of a packet over IPv6, with the addresses as halves; otherwise as {@link #ofV4}. */
    public int ofV6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        long bth = place(at, length);
        long udpLength = (long) length + UDP_HEADER + LENGTH;
        NetworkOrder.putLong(bth - 56, -1);
        NetworkOrder.putLong(bth - 48, 0x6fff_ffffL << 32 | udpLength << 16 | UDP_PROTOCOL << 8 | 0xff);
        NetworkOrder.putLong(bth - 40, sourceHigh);
        NetworkOrder.putLong(bth - 32, sourceLow);
        NetworkOrder.putLong(bth - 24, destinationHigh);
        NetworkOrder.putLong(bth - 16, destinationLow);
        NetworkOrder.putLong(bth - 8, (long) sourcePort << 48 | (long) destinationPort << 32 | udpLength << 16
                | 0xffff);
        return sum(bth, 56, length);
    }

    /**
     * Tells whether the ICRC behind the payload is right for some IPv4 identification, which a UDP socket does not
     * show, together with {@link #DONT_FRAGMENT}. One in 65,536 damaged packets passes.
     *
     * @param likely the identification that is tried first, which saves time if it is right
     */
    public boolean v4Fits(int source, int destination, int sourcePort, int destinationPort, long at, int length,
            int likely) {
        if (tooShortOrLong(length)) {
            return false;
        }
        int found = get(at + length);
        int word = likely << 16 | DONT_FRAGMENT;
        int difference = found ^ ofV4(source, destination, word, sourcePort, destinationPort, at, length);
        if (difference == 0 || Crc32Algebra.isOfTwoBytes(difference, AFTER_IDENTIFICATION + length)) {
            return true;
        }
        return isFlush(at) && Crc32Algebra.isOfTwoBytes(found ^ again(at, length), AFTER_IDENTIFICATION + 2 * length);
    }

    /** Tells whether the ICRC behind the payload is right. */
    public boolean v6Fits(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        if (tooShortOrLong(length)) {
            return false;
        }
        int found = get(at + length);
        return found == ofV6(sourceHigh, sourceLow, destinationHigh, destinationLow, sourcePort, destinationPort, at,
                        length)
                || isFlush(at) && found == again(at, length);
    }

    private static boolean isFlush(long at) {
        return (Memory.getByte(at) & 0xff) == Opcode.RC_FLUSH;
    }

    /**
     * Returns the ICRC that Soft-RoCE gives a flush, after {@link #ofV4} or {@link #ofV6} of the same packet: it sums
     * the UDP payload a second time, without ones in byte 4 of the BTH. Captured packets of Linux 6.12 show it, and
     * that it takes no other flush; its sources were not looked at.
     */
    public int again(long at, int length) {
        int offset = (int) ((copies ? start + HEADROOM : at) - start);
        crc.update(memory.limit(offset + length).position(offset));
        memory.limit(memory.capacity());
        return (int) crc.getValue();
    }

    /** Writes an ICRC behind the payload. */
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

    /** Returns the address of a packet with room for headers before it. */
    private long place(long at, int length) {
        if (tooShortOrLong(length)) {
            throw new IllegalArgumentException("no ICRC of " + length + " bytes: a RoCEv2 packet has 12"
                    + " to " + Packet.BUFFER_SIZE + " bytes");
        }
        if (copies) {
            Memory.copy(at, start + HEADROOM, length);
        }
        return copies ? start + HEADROOM : at;
    }

    private int sum(long bth, int before, int length) {
        int offset = (int) (bth - start);
        byte masked = memory.get(offset + RESERVED_8A);
        memory.put(offset + RESERVED_8A, (byte) 0xff);
        crc.reset();
        crc.update(memory.limit(offset + length).position(offset - before));
        memory.limit(memory.capacity()).put(offset + RESERVED_8A, masked);
        return (int) crc.getValue();
    }
}
