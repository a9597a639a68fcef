package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.StandardProtocolFamily;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.AddressFamily;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.RdmaAddrinfo;
import org.kverbs.internal.abi.RdmaAddrinfoFlags;

/**
 * The search terms of {@link ConnectionEventChannel#addressInfo} ({@code rdma_getaddrinfo(3)}). Immutable.
 *
 * @param portSpace the port space: TCP for connections, UDP for datagrams
 * @param isPassive whether the addresses are local ones, for an id that listens ({@code RAI_PASSIVE})
 * @param isNumericHost whether the host is an address, so that no name server is asked ({@code RAI_NUMERICHOST})
 * @param isWithoutRoute whether the search leaves out the route ({@code RAI_NOROUTE})
 * @param family the only family to find, IPv4 or IPv6 ({@code RAI_FAMILY}); null for both
 * @param source the caller's local address for connecting, which each {@link AddressInfo} then has as its source; its
 *     port can be 0. Without a source, the address of the route
 */
public record AddressHints(
        PortSpace portSpace,
        boolean isPassive,
        boolean isNumericHost,
        boolean isWithoutRoute,
        @Nullable StandardProtocolFamily family,
        @Nullable InetSocketAddress source) {

    /**
     * Checks the combination of the hints.
     *
     * @throws IllegalArgumentException if the family is not an IP family, or if passive hints have a source
     */
    public AddressHints {
        if (family == StandardProtocolFamily.UNIX) {
            throw new IllegalArgumentException("family UNIX is not an IP family: give INET or INET6");
        }
        if (isPassive && source != null) {
            throw new IllegalArgumentException("hints for a listening id have the source "
                    + SocketAddresses.format(source)
                    + ": leave it out, and ask for the address to listen on as the host");
        }
    }

    /** Returns hints for an id that connects. */
    public static AddressHints active(PortSpace portSpace) {
        return new AddressHints(portSpace, false, false, false, null, null);
    }

    /** Returns hints for an id that listens. */
    public static AddressHints passive(PortSpace portSpace) {
        return new AddressHints(portSpace, true, false, false, null, null);
    }

    /** Returns a copy with a source: the local address to connect from. */
    public AddressHints from(InetSocketAddress source) {
        return new AddressHints(portSpace, isPassive, isNumericHost, isWithoutRoute, family, source);
    }

    /** Allocates the C structure. */
    MemorySegment allocate(SegmentAllocator allocator) {
        MemorySegment made = allocator.allocate(RdmaAddrinfo.SIZE, ADDRESS.byteAlignment());
        made.set(
                JAVA_INT,
                RdmaAddrinfo.AI_FLAGS,
                (isPassive ? RdmaAddrinfoFlags.RAI_PASSIVE : 0)
                        | (isNumericHost ? RdmaAddrinfoFlags.RAI_NUMERICHOST : 0)
                        | (isWithoutRoute ? RdmaAddrinfoFlags.RAI_NOROUTE : 0)
                        | (family == null ? 0 : RdmaAddrinfoFlags.RAI_FAMILY));
        made.set(JAVA_INT, RdmaAddrinfo.AI_FAMILY, number(family));
        made.set(JAVA_INT, RdmaAddrinfo.AI_QP_TYPE, portSpace.isDatagram()
                ? IbvQpType.IBV_QPT_UD : IbvQpType.IBV_QPT_RC);
        made.set(JAVA_INT, RdmaAddrinfo.AI_PORT_SPACE, portSpace.code());
        if (source != null) {
            MemorySegment from = SocketAddresses.allocate(allocator, source);
            made.set(JAVA_INT, RdmaAddrinfo.AI_SRC_LEN, (int) from.byteSize());
            made.set(ADDRESS, RdmaAddrinfo.AI_SRC_ADDR, from);
        }
        return made;
    }

    private static int number(@Nullable ProtocolFamily family) {
        if (family == null) {
            return 0;
        }
        return family == StandardProtocolFamily.INET ? AddressFamily.AF_INET : AddressFamily.AF_INET6;
    }
}
