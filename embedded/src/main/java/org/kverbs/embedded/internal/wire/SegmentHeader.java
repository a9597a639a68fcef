package org.kverbs.embedded.internal.wire;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.memory.Memory;

/**
 * The headers that stand in front of each segment of a TCP stream which the device cuts into segments: Ethernet, or the
 * encapsulation of IP over InfiniBand (RFC 4391, section 6); IPv4 or IPv6; and TCP. Mutable and reused.
 */
public final class SegmentHeader {

    private static final int IPOIB = 4;
    private static final int TAG = 4;
    private static final int TYPE_IPV4 = 0x0800;
    private static final int TYPE_IPV6 = 0x86dd;
    private static final int TYPE_VLAN = 0x8100;
    private static final int TYPE_OUTER_VLAN = 0x88a8;
    /** IANA's protocol numbers. */
    private static final int TCP = 6;

    private static final int HOP_BY_HOP = 0;
    private static final int DESTINATION_OPTIONS = 60;

    private static final int IPV6_LENGTH = 40;
    private static final int IPV4_CHECKSUM = 10;
    private static final int TCP_CHECKSUM = 16;
    private static final int TCP_FLAGS = 13;
    private static final int FIN = 1;
    private static final int PUSH = 8;
    private static final int WINDOW_REDUCED = 0x80;

    private final byte[] bytes;
    private int length;
    private int ip;
    private int tcp;
    private boolean isIpv4;

    /** Makes room for headers of at most this many bytes. */
    public SegmentHeader(int most) {
        bytes = new byte[most];
    }

    /** Returns the length of the headers. */
    public int length() {
        return length;
    }

    /**
     * Copies and reads headers.
     *
     * @param isFrame whether they begin with Ethernet; otherwise with the encapsulation of IP over InfiniBand
     * @return null, or a sentence that says what is wrong with them
     */
    public @Nullable String read(long header, int size, boolean isFrame) {
        if (size > bytes.length) {
            return "The header has %d bytes, and max_tso_header is %d.".formatted(size, bytes.length);
        }
        length = size;
        for (int i = 0; i < size; i++) {
            bytes[i] = Memory.getByte(header + i);
        }
        int at = isFrame ? FrameHeaders.ADDRESSES : 0;
        while (isFrame && at + TAG < size && isTag(bits16(at))) {
            at += TAG;
        }
        ip = at + (isFrame ? 2 : IPOIB);
        int type = ip <= size ? bits16(at) : 0;
        if (type != TYPE_IPV4 && type != TYPE_IPV6) {
            return "The header is not one of TCP over IPv4 or IPv6, behind "
                    + (isFrame ? "Ethernet." : "the 4 bytes of IP over InfiniBand (RFC 4391).");
        }
        isIpv4 = type == TYPE_IPV4;
        tcp = isIpv4 ? behindIpv4() : behindIpv6();
        boolean isWhole = tcp > 0 && tcp + 20 <= size && tcp + (bits8(tcp + 12) >> 4) * 4 == size;
        return isWhole ? null : "The header must be of one IP packet that is no fragment, and end with its TCP header.";
    }

    private static boolean isTag(int type) {
        return type == TYPE_VLAN || type == TYPE_OUTER_VLAN;
    }

    /** Returns where the TCP header begins; 0 if there is none. */
    private int behindIpv4() {
        if (ip + 20 > length || bits8(ip) >> 4 != 4 || (bits16(ip + 6) & 0x3fff) != 0 || bits8(ip + 9) != TCP) {
            return 0;
        }
        int size = (bits8(ip) & 0xf) * 4;
        return size < 20 ? 0 : ip + size;
    }

    private int behindIpv6() {
        if (ip + IPV6_LENGTH > length || bits8(ip) >> 4 != 6) {
            return 0;
        }
        int next = bits8(ip + 6);
        int at = ip + IPV6_LENGTH;
        while ((next == HOP_BY_HOP || next == DESTINATION_OPTIONS) && at + 8 <= length) {
            next = bits8(at);
            at += (bits8(at + 1) + 1) * 8;
        }
        return next == TCP ? at : 0;
    }

    /**
     * Writes the headers of a segment in front of its payload, which is at {@code place} plus {@link #length} already.
     *
     * @param index the number of the segment, from 0; IPv4 gives each packet the next identification
     * @param offset the bytes of the stream before the segment
     * @param payload the bytes of the segment
     * @param isLast only the last segment has FIN and PSH; only the first says that the window was reduced (RFC 3168)
     * @param hasChecksums whether to compute the checksums of IPv4 and TCP; otherwise they are those of the header
     */
    public void write(long place, int index, long offset, int payload, boolean isLast, boolean hasChecksums) {
        for (int i = 0; i < length; i++) {
            Memory.putByte(place + i, bytes[i]);
        }
        int packet = length - ip + payload;
        if (isIpv4) {
            put16(place + ip + 2, packet);
            put16(place + ip + 4, bits16(ip + 4) + index);
        } else {
            put16(place + ip + 4, packet - IPV6_LENGTH);
        }
        int sequence = (bits16(tcp + 4) << 16 | bits16(tcp + 6)) + (int) offset;
        put16(place + tcp + 4, sequence >>> 16);
        put16(place + tcp + 6, sequence);
        int cleared = (isLast ? 0 : FIN | PUSH) | (index == 0 ? 0 : WINDOW_REDUCED);
        Memory.putByte(place + tcp + TCP_FLAGS, (byte) (bits8(tcp + TCP_FLAGS) & ~cleared));
        if (hasChecksums) {
            checksums(place, payload);
        }
    }

    private void checksums(long place, int payload) {
        if (isIpv4) {
            put16(place + ip + IPV4_CHECKSUM, 0);
            put16(place + ip + IPV4_CHECKSUM, InternetChecksum.of(place + ip, tcp - ip));
        }
        int segment = length - tcp + payload;
        put16(place + tcp + TCP_CHECKSUM, 0);
        int addresses = isIpv4 ? ip + 12 : ip + 8;
        long sum = InternetChecksum.sum(place + addresses, isIpv4 ? 8 : 32)
                + TCP
                + segment
                + InternetChecksum.sum(place + tcp, segment);
        put16(place + tcp + TCP_CHECKSUM, InternetChecksum.complement(sum));
    }

    private int bits8(int at) {
        return Byte.toUnsignedInt(bytes[at]);
    }

    private int bits16(int at) {
        return bits8(at) << 8 | bits8(at + 1);
    }

    private static void put16(long at, int value) {
        Memory.putByte(at, (byte) (value >>> 8));
        Memory.putByte(at + 1, (byte) value);
    }
}
