package org.kverbs.embedded.internal.wire;

import org.kverbs.internal.memory.Memory;

/**
 * An Ethernet frame whose IPv4 or IPv6 packet has an ESP header (RFC 4303) with the initialization vector of AES-GCM
 * (RFC 4106). Mutable and reused; the frame must stay where it is until {@link #write}.
 */
public final class EspPacket {

    private static final int TAG = 4;
    private static final int TYPE_IPV4 = 0x0800;
    private static final int TYPE_IPV6 = 0x86dd;
    private static final int TYPE_VLAN = 0x8100;
    private static final int TYPE_OUTER_VLAN = 0x88a8;
    /** IANA's protocol numbers. */
    private static final int ESP = 50;

    private static final int DUMMY = 59;

    private static final int IPV6_LENGTH = 40;
    /** The SPI, the sequence number, and the vector behind them. */
    private static final int HEADER = 8;

    private static final int VECTOR = 8;
    /** The length of the padding, and the protocol behind it. */
    private static final int TRAILER = 2;

    private static final int IPV4_CHECKSUM = 10;

    private long frame;
    private int ip;
    private int esp;
    private int end;
    private boolean isIpv4;

    /** Reads a frame. Returns false if it has no ESP packet that is whole. */
    public boolean read(long at, int length, int icvLength) {
        frame = at;
        ip = FrameHeaders.ADDRESSES;
        while (ip + TAG + 2 <= length && (bits16(ip) == TYPE_VLAN || bits16(ip) == TYPE_OUTER_VLAN)) {
            ip += TAG;
        }
        int type = ip + 2 <= length ? bits16(ip) : 0;
        ip += 2;
        isIpv4 = type == TYPE_IPV4;
        boolean isFound = isIpv4 ? readIpv4(length) : type == TYPE_IPV6 && readIpv6(length);
        return isFound && end <= length && end - esp >= HEADER + VECTOR + TRAILER + icvLength;
    }

    private boolean readIpv4(int length) {
        if (ip + 20 > length || bits8(ip) >> 4 != 4 || bits8(ip + 9) != ESP || (bits16(ip + 6) & 0x3fff) != 0) {
            return false;
        }
        int header = (bits8(ip) & 0xf) * 4;
        esp = ip + header;
        end = ip + bits16(ip + 2); // bytes behind it are padding of Ethernet
        return header >= 20;
    }

    private boolean readIpv6(int length) {
        if (ip + IPV6_LENGTH > length || bits8(ip) >> 4 != 6 || bits8(ip + 6) != ESP) {
            return false;
        }
        esp = ip + IPV6_LENGTH;
        end = esp + bits16(ip + 4);
        return true;
    }

    /** Returns the Security Parameters Index. */
    public int spi() {
        return bits32(esp);
    }

    /** Returns the sequence number that the packet carries. */
    public int sequence() {
        return bits32(esp + 4);
    }

    /** Copies the initialization vector. */
    public void copyVector(byte[] to, int at) {
        copy(esp + HEADER, to, at, VECTOR);
    }

    /** Returns what is authenticated but not encrypted: the header, with the upper half of an extended number. */
    public byte[] authenticated(boolean isExtended, int upper) {
        var bytes = new byte[isExtended ? HEADER + 4 : HEADER];
        copy(esp, bytes, 0, 4);
        for (int i = 0; isExtended && i < 4; i++) {
            bytes[4 + i] = (byte) (upper >>> (3 - i) * Byte.SIZE);
        }
        copy(esp + 4, bytes, bytes.length - 4, 4);
        return bytes;
    }

    /** Returns the encrypted bytes with the integrity check value. */
    public byte[] sealed() {
        var bytes = new byte[end - esp - HEADER - VECTOR];
        copy(esp + HEADER + VECTOR, bytes, 0, bytes.length);
        return bytes;
    }

    /**
     * Writes the frame without ESP. Returns its length, or -1 if the padding is longer than the packet, if the frame is
     * longer than {@code most}, or if the packet is a dummy (RFC 4303, section 2.6).
     */
    public int write(byte[] plain, long to, int most) {
        int protocol = Byte.toUnsignedInt(plain[plain.length - 1]);
        int payload = plain.length - TRAILER - Byte.toUnsignedInt(plain[plain.length - TRAILER]);
        if (payload < 0 || protocol == DUMMY || esp + payload > most) {
            return -1;
        }
        Memory.copy(frame, to, esp);
        for (int i = 0; i < payload; i++) {
            Memory.putByte(to + esp + i, plain[i]);
        }
        if (isIpv4) {
            Memory.putByte(to + ip + 9, (byte) protocol);
            put16(to + ip + 2, esp - ip + payload);
            put16(to + ip + IPV4_CHECKSUM, 0);
            put16(to + ip + IPV4_CHECKSUM, InternetChecksum.of(to + ip, esp - ip));
        } else {
            Memory.putByte(to + ip + 6, (byte) protocol);
            put16(to + ip + 4, payload);
        }
        return esp + payload;
    }

    private void copy(int from, byte[] to, int at, int count) {
        for (int i = 0; i < count; i++) {
            to[at + i] = Memory.getByte(frame + from + i);
        }
    }

    private int bits8(int at) {
        return Byte.toUnsignedInt(Memory.getByte(frame + at));
    }

    private int bits16(int at) {
        return bits8(at) << 8 | bits8(at + 1);
    }

    private int bits32(int at) {
        return bits16(at) << 16 | bits16(at + 2);
    }

    private static void put16(long at, int value) {
        Memory.putByte(at, (byte) (value >>> 8));
        Memory.putByte(at + 1, (byte) value);
    }
}
