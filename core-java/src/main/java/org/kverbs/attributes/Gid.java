package org.kverbs.attributes;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvGid;
import org.kverbs.internal.values.Structure;

/**
 * A global identifier, the address of a port: {@code union ibv_gid}, 128 bits in the form of an IPv6 address (IBA
 * volume 1, section 4.1.1). On RoCE version 2 it holds the IPv6 address of the interface, or its IPv4 address as {@code
 * ::ffff:a.b.c.d}.
 *
 * @param subnetPrefix the first 64 bits as a number in host order; {@code fe80::} is 0xfe80000000000000
 * @param interfaceId the last 64 bits as a number in host order; on InfiniBand the GUID of the port
 */
public record Gid(long subnetPrefix, long interfaceId) {

    static {
        Structure.offer(Gid.class, segment -> from(segment, 0), (gid, segment) -> gid.writeTo(segment, 0));
    }

    /** Unaligned, because a GID is also read from the header of a received message, which can begin at any address. */
    private static final ValueLayout.OfLong NETWORK_LONG =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private static final long IPV4_MAPPED = 0xffffL;
    private static final Pattern WIRE = Pattern.compile("\\p{XDigit}{32}");
    private static final Pattern IPV4 = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}");
    private static final Pattern IPV6 = Pattern.compile("[\\p{XDigit}:.]*:[\\p{XDigit}:.]*");

    /**
     * Reads a GID from text: an IPv6 address in any of its forms, an IPv4 address (which becomes {@code
     * ::ffff:a.b.c.d}), or the 32 hexadecimal digits that ibv_rc_pingpong(1) exchanges.
     *
     * @throws IllegalArgumentException if {@code text} is none of these
     */
    public static Gid parse(String text) {
        if (WIRE.matcher(text).matches()) {
            return of(HexFormat.of().parseHex(text));
        }
        if (IPV4.matcher(text).matches() || IPV6.matcher(text).matches()) {
            try {
                return of(InetAddress.ofLiteral(text));
            } catch (IllegalArgumentException e) {
                throw malformed(text, e);
            }
        }
        throw malformed(text, null);
    }

    private static IllegalArgumentException malformed(String text, @Nullable Exception cause) {
        return new IllegalArgumentException(
                "\"" + text + "\" is not a GID: give an IPv6 address such as fe80::1, an IPv4 address, or 32 "
                        + "hexadecimal digits", cause);
    }

    /**
     * Returns the GID with these 16 bytes, in network order.
     *
     * @throws IllegalArgumentException if there are not 16 of them
     */
    public static Gid of(byte[] bytes) {
        if (bytes.length != IbvGid.SIZE) {
            throw new IllegalArgumentException("a GID has 16 bytes, not " + bytes.length);
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        return new Gid(buffer.getLong(), buffer.getLong());
    }

    /**
     * Returns the GID of {@code address} on RoCE version 2: an IPv6 address unchanged, an IPv4 address as {@code
     * ::ffff:a.b.c.d}.
     */
    public static Gid of(InetAddress address) {
        byte[] bytes = address.getAddress();
        return bytes.length == 4
                ? new Gid(0, IPV4_MAPPED << 32 | Integer.toUnsignedLong(ByteBuffer.wrap(bytes).getInt()))
                : of(bytes);
    }

    /** Reads the 16 bytes at {@code offset} of {@code segment}, which need not be aligned. */
    static Gid from(MemorySegment segment, long offset) {
        return new Gid(
                segment.get(NETWORK_LONG, offset + IbvGid.GLOBAL_SUBNET_PREFIX),
                segment.get(NETWORK_LONG, offset + IbvGid.GLOBAL_INTERFACE_ID));
    }

    /** Writes the 16 bytes, in network order, at {@code offset} of {@code segment}, which need not be aligned. */
    void writeTo(MemorySegment segment, long offset) {
        segment.set(NETWORK_LONG, offset + IbvGid.GLOBAL_SUBNET_PREFIX, subnetPrefix);
        segment.set(NETWORK_LONG, offset + IbvGid.GLOBAL_INTERFACE_ID, interfaceId);
    }

    /** Returns the 16 bytes in network order, a new array. */
    public byte[] bytes() {
        return ByteBuffer.allocate(IbvGid.SIZE).putLong(subnetPrefix).putLong(interfaceId).array();
    }

    /** Returns whether all bits are 0, as in an empty entry of a GID table. */
    public boolean isZero() {
        return subnetPrefix == 0 && interfaceId == 0;
    }

    /** Returns whether the GID holds an IPv4 address: {@code ::ffff:a.b.c.d}. */
    public boolean isIpv4Mapped() {
        return subnetPrefix == 0 && interfaceId >>> 32 == IPV4_MAPPED;
    }

    /**
     * Returns the GID as an address: an Inet4Address if {@link #isIpv4Mapped()}, else an Inet6Address without a scope.
     */
    public InetAddress toInetAddress() {
        try {
            return InetAddress.getByAddress(bytes());
        } catch (UnknownHostException e) {
            throw new AssertionError("16 bytes are an address", e);
        }
    }

    /** Returns the 32 lower-case hexadecimal digits that ibv_rc_pingpong(1) exchanges. */
    public String toWire() {
        return HexFormat.of().toHexDigits(subnetPrefix) + HexFormat.of().toHexDigits(interfaceId);
    }

    /**
     * Returns the short form that inet_ntop(3) prints (RFC 5952), such as {@code fe80::1} or {@code ::ffff:10.0.0.1}.
     */
    public String toCompactString() {
        return GidText.compact(bytes());
    }

    /** Returns the long form: eight groups of four lower-case hexadecimal digits. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(toWire());
        for (int group = 7; group > 0; group--) {
            text.insert(4 * group, ':');
        }
        return text.toString();
    }
}
