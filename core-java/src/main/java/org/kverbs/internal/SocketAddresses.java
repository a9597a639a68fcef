package org.kverbs.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.AddressFamily;
import org.kverbs.internal.abi.SockaddrIn;
import org.kverbs.internal.abi.SockaddrIn6;

/**
 * Converts an {@link InetSocketAddress} to and from {@code struct sockaddr_in} and {@code sockaddr_in6} (ip(7),
 * ipv6(7)).
 */
public final class SocketAddresses {

    private static final ValueLayout.OfShort NETWORK_SHORT = JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int IPV4_BYTES = 4;
    private static final int IPV6_BYTES = 16;

    private SocketAddresses() {}

    /**
     * Allocates the C structure of an address.
     *
     * @throws IllegalArgumentException if the host name was not resolved to an IP address
     */
    public static MemorySegment allocate(SegmentAllocator allocator, InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        if (ip == null) {
            throw new IllegalArgumentException("the host name of " + address
                    + " has no IP address that is known here: check the name, or"
                    + " give the address itself");
        }
        boolean isV6 = ip instanceof Inet6Address;
        MemorySegment made = allocator.allocate(isV6 ? SockaddrIn6.SIZE : SockaddrIn.SIZE, Integer.BYTES);
        made.set(JAVA_SHORT, SockaddrIn.SIN_FAMILY, (short) (isV6 ? AddressFamily.AF_INET6 : AddressFamily.AF_INET));
        made.set(NETWORK_SHORT, SockaddrIn.SIN_PORT, (short) address.getPort());
        MemorySegment bytes = MemorySegment.ofArray(ip.getAddress());
        made.asSlice(isV6 ? SockaddrIn6.SIN6_ADDR : SockaddrIn.SIN_ADDR, bytes.byteSize()).copyFrom(bytes);
        if (ip instanceof Inet6Address v6) {
            made.set(JAVA_INT, SockaddrIn6.SIN6_SCOPE_ID, v6.getScopeId());
        }
        return made;
    }

    /**
     * Reads the address at the start of a segment, which has the size of {@code sockaddr_in6}.
     *
     * @return the address; null if its family is neither IPv4 nor IPv6, as for an address that is not set yet
     */
    public static @Nullable InetSocketAddress read(MemorySegment segment) {
        int family = Short.toUnsignedInt(segment.get(JAVA_SHORT, SockaddrIn.SIN_FAMILY));
        int port = Short.toUnsignedInt(segment.get(NETWORK_SHORT, SockaddrIn.SIN_PORT));
        return switch (family) {
            case AddressFamily.AF_INET -> {
                byte[] ip = segment.asSlice(SockaddrIn.SIN_ADDR, IPV4_BYTES).toArray(JAVA_BYTE);
                yield new InetSocketAddress(ipAddress(ip, 0), port);
            }
            case AddressFamily.AF_INET6 -> {
                byte[] ip = segment.asSlice(SockaddrIn6.SIN6_ADDR, IPV6_BYTES).toArray(JAVA_BYTE);
                yield new InetSocketAddress(ipAddress(ip, segment.get(JAVA_INT, SockaddrIn6.SIN6_SCOPE_ID)), port);
            }
            default -> null;
        };
    }

    private static InetAddress ipAddress(byte[] ip, int scope) {
        try {
            return scope == 0 ? InetAddress.getByAddress(ip) : Inet6Address.getByAddress(null, ip, scope);
        } catch (UnknownHostException e) {
            throw new AssertionError("4 or 16 bytes are an address", e);
        }
    }

    /** Returns {@code 10.0.0.1:7471} or {@code [fe80::1]:7471}, without the host name and without a name lookup. */
    public static String format(InetSocketAddress address) {
        InetAddress ip = address.getAddress();
        if (ip == null) {
            return address.getHostString() + ":" + address.getPort();
        }
        String text = ip.getHostAddress();
        return (ip instanceof Inet6Address ? "[" + text + "]" : text) + ":" + address.getPort();
    }
}
