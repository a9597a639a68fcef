package org.kverbs.embedded.internal.wire;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import org.kverbs.internal.ffm.Memory;

/**
 * The invariant CRC of RoCEv2 (annex A17; IBA volume 1, 7.8): the CRC-32 of Ethernet over 8 bytes of ones, the IP and
 * UDP headers, and the UDP payload, where all that a router may change counts as ones: in IPv4 type of service, time to
 * live and checksum, in IPv6 traffic class, flow label and hop limit, the UDP checksum, and byte 4 of the BTH. On the
 * wire it follows the payload, lowest byte first.
 *
 * <p>All that is summed must lie in one run, so that it is one call that the JVM has as an intrinsic: many times as
 * fast as tables. A packet in memory that leaves room before it is summed where it lies, any other is copied to a
 * scratch buffer. Nothing is allocated per packet. Not thread-safe: one for each thread, or under a lock.
 */
public final class Icrc {

    /** Bytes of the ICRC; they count in the lengths of IP and UDP. */
    public static final int LENGTH = 4;
    /** Where RoCEv2 listens (annex A17). */
    public static final int UDP_PORT = 4791;
    /** The word of IPv4's flags and fragment offset in a packet that must not be cut up: what RoCEv2 sends. */
    public static final int DONT_FRAGMENT = 0x4000;

    /** Bytes before a packet that its headers are written to when it is summed where it lies. */
    public static final int HEADROOM = 64;

    private static final int IPV4_HEADER = 20;
    private static final int IPV6_HEADER = 40;
    private static final int UDP_HEADER = 8;
    private static final int UDP_PROTOCOL = 17;
    /** Where BTH byte 4 is. */
    private static final int RESERVED_8A = 4;
    /** Bytes that follow IPv4's identification up to the UDP payload. */
    private static final int AFTER_IDENTIFICATION = IPV4_HEADER - 6 + UDP_HEADER;

    private final ByteBuffer memory;
    private final long start;
    private final boolean copies;
    private final CRC32 crc = new CRC32();

    /** For packets anywhere. */
    public Icrc() {
        this(ByteBuffer.allocateDirect(HEADROOM + Packet.BUFFER_SIZE), true);
    }

    /**
     * For packets in this direct buffer only, none of them in its first {@link #HEADROOM} bytes; those before a packet
     * are written to.
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
     * The ICRC of a packet over IPv4.
     *
     * @param source the address as a number, 10.0.0.1 being 0x0a000001
     * @param identification IPv4's identification in the upper 16 bits, flags and fragment offset below
     * @param at address of the UDP payload
     * @param length its bytes without the ICRC, from 12 to {@link Packet#BUFFER_SIZE}
     */
    public int ofV4(int source, int destination, int identification, int sourcePort, int destinationPort, long at,
            int length) {
        long bth = place(at, length);
        long udpLength = UDP_HEADER + length + LENGTH;
        NetworkOrder.putLong(bth - 36, -1);
        NetworkOrder.putLong(bth - 28, 0x45ffL << 48 | IPV4_HEADER + udpLength << 32
                | Integer.toUnsignedLong(identification));
        NetworkOrder.putLong(bth - 20, (0xff00_ffffL | UDP_PROTOCOL << 16) << 32 | Integer.toUnsignedLong(source));
        NetworkOrder.putLong(bth - 12, (long) destination << 32
                | Integer.toUnsignedLong(sourcePort << 16 | destinationPort));
        NetworkOrder.putInt(bth - 4, (int) udpLength << 16 | 0xffff);
        return sum(bth, 36, length);
    }

    /** The ICRC of a packet over IPv6, the addresses as halves; otherwise as {@link #ofV4}. */
    public int ofV6(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        long bth = place(at, length);
        long udpLength = UDP_HEADER + length + LENGTH;
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
     * Whether the ICRC that follows the payload is right for some identification, which a UDP socket does not show,
     * with {@link #DONT_FRAGMENT}. One in 65,536 damaged packets gets through.
     */
    public boolean v4Fits(int source, int destination, int sourcePort, int destinationPort, long at, int length) {
        if (tooShortOrLong(length)) {
            return false;
        }
        int difference =
                get(at + length) ^ ofV4(source, destination, DONT_FRAGMENT, sourcePort, destinationPort, at, length);
        return difference == 0 || Crc32Algebra.isOfTwoBytes(difference, AFTER_IDENTIFICATION + length);
    }

    /** Whether the ICRC that follows the payload is right. */
    public boolean v6Fits(long sourceHigh, long sourceLow, long destinationHigh, long destinationLow,
            int sourcePort, int destinationPort, long at, int length) {
        return !tooShortOrLong(length)
                && get(at + length) == ofV6(sourceHigh, sourceLow, destinationHigh, destinationLow, sourcePort,
                        destinationPort, at, length);
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

    /** Where a packet lies, with room for headers before it. */
    private long place(long at, int length) {
        if (tooShortOrLong(length)) {
            throw new IllegalArgumentException("ICRC of " + length + " bytes: a RoCEv2 packet has from 12 to "
                    + Packet.BUFFER_SIZE);
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
