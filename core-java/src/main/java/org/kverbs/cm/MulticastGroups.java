package org.kverbs.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.function.ToIntFunction;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.RdmaCmMcJoinFlags;

/** Joins and leaves the multicast groups of a connection id. */
final class MulticastGroups {

    private final ConnectionId id;
    private final ConnectionAddresses addresses;

    MulticastGroups(ConnectionId id, ConnectionAddresses addresses) {
        this.id = id;
        this.addresses = addresses;
    }

    void join(InetSocketAddress group, boolean sendOnly) {
        if (group.getAddress() != null && !group.getAddress().isMulticastAddress()) {
            throw new IllegalArgumentException(SocketAddresses.format(group)
                    + " is no multicast address: those of IPv4 are 224.0.0.0 to"
                    + " 239.255.255.255, those of IPv6 begin with ff");
        }
        addresses.group = group;
        int flags = sendOnly
                ? RdmaCmMcJoinFlags.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
                : RdmaCmMcJoinFlags.RDMA_MC_JOIN_FLAG_FULLMEMBER;
        with("rdma_join_multicast_ex", group, address -> id.manager().joinMulticast(id.handle(), address, flags));
    }

    void leave(InetSocketAddress group) {
        with("rdma_leave_multicast", group, address -> id.manager().leaveMulticast(id.handle(), address));
    }

    private void with(String operation, InetSocketAddress group, ToIntFunction<MemorySegment> call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SocketAddresses.allocate(arena, group);
            id.command(operation + "(" + SocketAddresses.format(group) + ")", () -> call.applyAsInt(address));
        }
    }
}
