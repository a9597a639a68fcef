package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.RdmaAddrinfo;
import org.kverbs.internal.abi.SockaddrIn;
import org.kverbs.internal.abi.SockaddrIn6;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ConnectionManager;

/**
 * An address that {@link ConnectionEventChannel#addressInfo} found: {@code struct rdma_addrinfo}. Immutable.
 *
 * @param portSpace the port space; UNKNOWN if {@code rawPortSpace} has no name
 * @param rawPortSpace the number of {@code portSpace}, an {@code enum rdma_port_space}
 * @param queuePairType the type of queue pair for this address; UNKNOWN if the library names none
 * @param source the local address to listen on, or the source of the hints; null for none
 * @param destination the peer's address to resolve; null for an address to listen on
 */
public record AddressInfo(
        PortSpace portSpace,
        int rawPortSpace,
        QueuePairType queuePairType,
        @Nullable InetSocketAddress source,
        @Nullable InetSocketAddress destination) {

    /** Returns the destination; refuses a result of passive hints. */
    InetSocketAddress requireDestination() {
        if (destination == null) {
            throw new IllegalArgumentException(this + " has no destination; ask with AddressHints.active for one");
        }
        return destination;
    }

    /** Queries the addresses, copies the list and frees it. */
    static List<AddressInfo> query(
            ConnectionManager manager, @Nullable String node, @Nullable String service, AddressHints hints) {
        try (Arena arena = Arena.ofConfined()) {
            long first = manager.addressInfo(text(arena, node), text(arena, service), hints.allocate(arena));
            if (first < 0) {
                throw Failures.of("rdma_getaddrinfo(" + node + ", " + service + ")", (int) -first);
            }
            return take(manager, first);
        }
    }

    /** Allocates a name. */
    static @Nullable MemorySegment text(Arena arena, @Nullable String name) {
        return name == null ? null : arena.allocateFrom(name);
    }

    /** Copies a list and frees it. */
    static List<AddressInfo> take(ConnectionManager manager, long first) {
        try {
            var found = new ArrayList<AddressInfo>();
            for (long at = first; at != 0; at = Memory.at(at, RdmaAddrinfo.SIZE).get(JAVA_LONG, RdmaAddrinfo.AI_NEXT)) {
                found.add(from(Memory.at(at, RdmaAddrinfo.SIZE)));
            }
            return List.copyOf(found);
        } finally {
            manager.freeAddressInfo(first);
        }
    }

    private static AddressInfo from(MemorySegment info) {
        int portSpace = info.get(JAVA_INT, RdmaAddrinfo.AI_PORT_SPACE);
        return new AddressInfo(
                PortSpace.of(portSpace),
                portSpace,
                QueuePairType.of(info.get(JAVA_INT, RdmaAddrinfo.AI_QP_TYPE)),
                address(info, RdmaAddrinfo.AI_SRC_ADDR, RdmaAddrinfo.AI_SRC_LEN),
                address(info, RdmaAddrinfo.AI_DST_ADDR, RdmaAddrinfo.AI_DST_LEN));
    }

    private static @Nullable InetSocketAddress address(MemorySegment info, int pointer, int length) {
        long address = info.get(JAVA_LONG, pointer);
        int bytes = info.get(JAVA_INT, length);
        return address == 0 || bytes < SockaddrIn.SIZE
                ? null
                : SocketAddresses.read(Memory.at(address, Math.min(bytes, SockaddrIn6.SIZE)));
    }
}
