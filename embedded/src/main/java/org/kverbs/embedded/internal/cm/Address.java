package org.kverbs.embedded.internal.cm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.internal.abi.AddressFamily;
import org.kverbs.internal.abi.SockaddrIn;
import org.kverbs.internal.abi.SockaddrIn6;

/**
 * Holds an IP address and a port. The address is kept as the GID that stands for it, in two big-endian halves; an IPv4
 * address is ::ffff:a.b.c.d.
 */
public record Address(long high, long low, int port) {

    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final long V4 = 0xffffL << 32;
    private static final int LOOPBACK = 127 << 24 | 1;

    static final Address ANY = v4(0, 0);

    static Address v4(int address, int port) {
        return new Address(0, V4 | Integer.toUnsignedLong(address), port);
    }

    static Address of(InetAddress address, int port) {
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        return address instanceof Inet4Address
                ? v4(bytes.getInt(), port)
                : new Address(bytes.getLong(), bytes.getLong(), port);
    }

    /** Reads {@code struct sockaddr_in} or {@code sockaddr_in6}; returns null if it is neither. */
    static @Nullable Address read(MemorySegment from) {
        if (from.byteSize() < SockaddrIn.SIZE) {
            return null;
        }
        int family = from.get(ValueLayout.JAVA_SHORT_UNALIGNED, SockaddrIn.SIN_FAMILY);
        int port = from.get(SHORT, SockaddrIn.SIN_PORT) & 0xffff;
        if (family == AddressFamily.AF_INET) {
            return v4(from.get(INT, SockaddrIn.SIN_ADDR), port);
        }
        return family != AddressFamily.AF_INET6 || from.byteSize() < SockaddrIn6.SIZE
                ? null
                : new Address(from.get(LONG, SockaddrIn6.SIN6_ADDR), from.get(LONG, SockaddrIn6.SIN6_ADDR + 8), port);
    }

    /** Writes {@code struct sockaddr_in} or {@code sockaddr_in6}, in {@link SockaddrIn6#SIZE} bytes. */
    void write(MemorySegment to) {
        to.asSlice(0, SockaddrIn6.SIZE).fill((byte) 0);
        to.set(ValueLayout.JAVA_SHORT_UNALIGNED, SockaddrIn.SIN_FAMILY, (short) family());
        to.set(SHORT, SockaddrIn.SIN_PORT, (short) port);
        if (isV4()) {
            to.set(INT, SockaddrIn.SIN_ADDR, (int) low);
        } else {
            to.set(LONG, SockaddrIn6.SIN6_ADDR, high);
            to.set(LONG, SockaddrIn6.SIN6_ADDR + 8, low);
        }
    }

    /** Returns AF_INET or AF_INET6. */
    int family() {
        return isV4() ? AddressFamily.AF_INET : AddressFamily.AF_INET6;
    }

    int size() {
        return isV4() ? SockaddrIn.SIZE : SockaddrIn6.SIZE;
    }

    boolean isV4() {
        return Gids.isV4(high, low);
    }

    boolean isAny() {
        return high == 0 && (low == 0 || low == V4);
    }

    boolean isLoopback() {
        return isV4() ? (low >>> 24 & 0xff) == 127 : high == 0 && low == 1;
    }

    /** Returns the loopback address of the same family, with the same port. */
    Address loopback() {
        return isV4() ? v4(LOOPBACK, port) : new Address(0, 1, port);
    }

    Address withPort(int other) {
        return new Address(high, low, other);
    }

    boolean isSameHost(Address other) {
        return high == other.high && low == other.low;
    }
}
