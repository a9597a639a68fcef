package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.net.InetSocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.RdmaCmId;
import org.kverbs.internal.abi.SockaddrIn6;
import org.kverbs.internal.memory.Memory;

/** Where a connection id is and where it leads: what was asked for, and what its C structure says. */
final class ConnectionAddresses {

    private final ConnectionId id;
    /** What it was asked to bind to; null before that. */
    volatile @Nullable InetSocketAddress bound;
    /** The peer's address as far as it was asked for. */
    volatile @Nullable InetSocketAddress peer;
    /** The multicast group that was joined last. */
    volatile @Nullable InetSocketAddress group;

    /** @param isPassive whether the peer asked, so that its address stands in the structure */
    ConnectionAddresses(ConnectionId id, boolean isPassive) {
        this.id = id;
        if (isPassive) {
            peer = at(RdmaCmId.ROUTE_ADDR_DST_ADDR);
        }
    }

    @Nullable String deviceName() {
        return inside(() -> id.manager().deviceName(id.handle()));
    }

    int port() {
        return inside(
                () -> Byte.toUnsignedInt(Memory.at(id.handle(), RdmaCmId.SIZE).get(JAVA_BYTE, RdmaCmId.PORT_NUM)));
    }

    @Nullable InetSocketAddress local() {
        return inside(() -> at(RdmaCmId.ROUTE_ADDR_SRC_ADDR));
    }

    @Nullable InetSocketAddress remote() {
        return inside(() -> at(RdmaCmId.ROUTE_ADDR_DST_ADDR));
    }

    /** Reads something of the C structure while it can't go. */
    private <T extends @Nullable Object> T inside(Supplier<T> read) {
        id.lifetime.enter();
        try {
            return read.get();
        } finally {
            id.lifetime.exit();
        }
    }

    private @Nullable InetSocketAddress at(int offset) {
        return SocketAddresses.read(Memory.at(id.handle(), RdmaCmId.SIZE).asSlice(offset, SockaddrIn6.SIZE));
    }

    /** A call's name with the peer's address, for errors. */
    String naming(String operation) {
        InetSocketAddress to = peer;
        return operation + "(" + (to == null ? id.portSpace() + ", no peer yet" : SocketAddresses.format(to)) + ")";
    }

    /** The end of a description: {@code  to 10.0.0.1:7471}; empty while nothing is known. */
    String where() {
        InetSocketAddress to = peer;
        InetSocketAddress on = bound;
        if (to != null) {
            return (id.isPassive() ? " from " : " to ") + SocketAddresses.format(to);
        }
        return on == null ? "" : " on " + SocketAddresses.format(on);
    }
}
