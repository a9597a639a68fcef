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
 * What {@link ConnectionEventChannel#addressInfo} is to look for ({@code rdma_getaddrinfo(3)}).
 *
 * @param portSpace for connections or for datagrams
 * @param isPassive for an id that listens: the addresses are local ones ({@code RAI_PASSIVE})
 * @param isNumericHost the host is an address, and no name server is asked ({@code RAI_NUMERICHOST})
 * @param isWithoutRoute no route is looked for ({@code RAI_NOROUTE})
 * @param family IPv4 or IPv6 alone ({@code RAI_FAMILY}), or null for both
 * @param source for who connects: the local address to come from, which stands in each {@link AddressInfo} then; its
 *     port may be 0. Null leaves it to the routing table
 */
public record AddressHints(
        PortSpace portSpace,
        boolean isPassive,
        boolean isNumericHost,
        boolean isWithoutRoute,
        @Nullable StandardProtocolFamily family,
        @Nullable InetSocketAddress source) {

    /**
     * Checks what excludes each other.
     *
     * @throws IllegalArgumentException if the family is none of IP, or a source is given for who listens
     */
    public AddressHints {
        if (family == StandardProtocolFamily.UNIX) {
            throw new IllegalArgumentException("a family is INET or INET6, not UNIX");
        }
        if (isPassive && source != null) {
            throw new IllegalArgumentException("who listens has no source " + SocketAddresses.format(source)
                    + ": the address to listen on is the host that is asked for");
        }
    }

    /** For who connects. */
    public static AddressHints active(PortSpace portSpace) {
        return new AddressHints(portSpace, false, false, false, null, null);
    }

    /** For who listens. */
    public static AddressHints passive(PortSpace portSpace) {
        return new AddressHints(portSpace, true, false, false, null, null);
    }

    /** The same, from a local address. */
    public AddressHints from(InetSocketAddress source) {
        return new AddressHints(portSpace, isPassive, isNumericHost, isWithoutRoute, family, source);
    }

    /** The C structure. */
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
