package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.net.InetSocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.RdmaCmId;
import org.kverbs.internal.abi.SockaddrIn6;
import org.kverbs.internal.memory.Memory;

/** The local and remote addresses of a connection id: those that the caller asked for and those in its C structure. */
final class ConnectionAddresses {

    private final ConnectionId id;
    /** The address that the caller bound the id to; null before that. */
    volatile @Nullable InetSocketAddress bound;
    /**
     * The peer's address that the caller asked for, or of a passive id the address of the requesting peer; null before
     * that.
     */
    volatile @Nullable InetSocketAddress peer;
    /** The multicast group that the id joined last. */
    volatile @Nullable InetSocketAddress group;

    /**
     * Makes the addresses of an id.
     *
     * @param isPassive whether a peer's request made the id, so that its C structure has the peer's address
     */
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

    /** Reads from the C structure while the id cannot be destroyed. */
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

    /** Returns the address that an exception about a step names; null if it is not known. */
    @Nullable InetSocketAddress named(ConnectionStep step) {
        return step == ConnectionStep.JOIN_MULTICAST ? group : peer;
    }

    /** Returns the name of a call with the peer's address, for errors. */
    String naming(String operation) {
        InetSocketAddress to = peer;
        return operation + "(" + (to == null ? id.portSpace() + ", no peer yet" : SocketAddresses.format(to)) + ")";
    }

    /** Returns the end of a description, such as {@code to 10.0.0.1:7471}; empty while no address is known. */
    String where() {
        InetSocketAddress to = peer;
        InetSocketAddress on = bound;
        if (to != null) {
            return (id.isPassive() ? " from " : " to ") + SocketAddresses.format(to);
        }
        return on == null ? "" : " on " + SocketAddresses.format(on);
    }
}
