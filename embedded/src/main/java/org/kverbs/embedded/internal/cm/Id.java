package org.kverbs.embedded.internal.cm;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Gsi;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.RdmaCmEventType;
import org.kverbs.internal.abi.RdmaCmId;
import org.kverbs.internal.abi.RdmaLimits;
import org.kverbs.internal.abi.RdmaPortSpace;
import org.kverbs.internal.abi.SockaddrIn6;
import org.kverbs.internal.memory.Memory;

/** Implements a {@code struct rdma_cm_id}: its addresses, its listening state and its events. */
final class Id {

    private enum State {
        IDLE,
        BOUND,
        ADDRESS_RESOLVED,
        ROUTE_RESOLVED,
        LISTENING,
        CONNECTING
    }

    /** The most requests that can wait in a backlog, and the default; as in Linux. */
    private static final int MAX_BACKLOG = 1024;

    private final Host host;
    private final MemorySegment structure = Arena.ofAuto().allocate(RdmaCmId.SIZE, 8);
    private final int portSpace;
    private EventChannel channel;
    private State state = State.IDLE;
    private Address source = Address.ANY;
    private Address destination = Address.ANY;
    private boolean hasPort;
    /** The device that the id is bound to. */
    private @Nullable Gsi port;
    /** All devices whose ports this id holds open. */
    private final List<Gsi> opened = new ArrayList<>();

    private @Nullable Remote remote;
    private int backlog;
    private int waiting;
    /** Set while the id listens. */
    private @Nullable HalfOpen halfOpen;
    private final List<Address> groups = new ArrayList<>();
    /** Events that the program took and has not acknowledged. */
    int unacknowledged;

    final IdOptions options = new IdOptions();
    final Session session;

    Id(Host host, EventChannel channel, int portSpace) {
        this.host = host;
        this.channel = channel;
        this.portSpace = portSpace;
        this.session = new Session(this, host.agent);
        Memory.putLong(handle() + RdmaCmId.CHANNEL, channel.handle());
        Memory.putInt(handle() + RdmaCmId.PS, portSpace);
        Memory.putInt(handle() + RdmaCmId.QP_TYPE, takesConnections() ? IbvQpType.IBV_QPT_RC : IbvQpType.IBV_QPT_UD);
    }

    long handle() {
        return structure.address();
    }

    EventChannel channel() {
        return channel;
    }

    boolean takesConnections() {
        return portSpace == RdmaPortSpace.RDMA_PS_TCP;
    }

    int protocol() {
        return portSpace & 0xff;
    }

    Address source() {
        return source;
    }

    boolean isBound() {
        return state != State.IDLE;
    }

    boolean isListening() {
        return state == State.LISTENING;
    }

    boolean isAt(Gsi device) {
        return port == null || port == device;
    }

    @Nullable String deviceName() {
        return port == null ? null : port.device().name();
    }

    void raise(CmEvent event) {
        channel.events.add(event);
    }

    void raise(int type, int status) {
        raise(new CmEvent(this, type, status));
    }

    void migrate(EventChannel to) {
        EventChannel from = channel;
        moveTo(to);
        from.events.removeIf(event -> {
            boolean moves = event.id == this || event.listener == this;
            if (moves) {
                event.id.moveTo(to); // until a request is taken, its events belong to the listener's channel
                to.events.add(event);
            }
            return moves;
        });
    }

    private void moveTo(EventChannel to) {
        channel = to;
        Memory.putLong(handle() + RdmaCmId.CHANNEL, to.handle());
    }

    // Addresses.

    private void setSource(Address address) {
        source = address;
        address.write(structure.asSlice(RdmaCmId.ROUTE_ADDR_SRC_ADDR, SockaddrIn6.SIZE));
    }

    private void setDestination(Address address) {
        destination = address;
        address.write(structure.asSlice(RdmaCmId.ROUTE_ADDR_DST_ADDR, SockaddrIn6.SIZE));
    }

    private int open(Gsi device) {
        int result = device.open();
        if (result == 0) {
            opened.add(device);
        }
        return result;
    }

    private int bindTo(Gsi device) {
        int result = port == device ? 0 : open(device);
        if (result == 0) {
            port = device;
            Memory.putByte(handle() + RdmaCmId.PORT_NUM, (byte) Route.PORT);
        }
        return result;
    }

    int bind(Address address) {
        if (state != State.IDLE) {
            return -Errno.EINVAL;
        }
        Gsi device = address.isAny() ? null : host.devices.at(address);
        if (device == null && !address.isAny()) {
            return -Errno.EADDRNOTAVAIL;
        }
        int taken = host.ports.take(this, address);
        if (taken < 0) {
            return taken;
        }
        setSource(address.withPort(taken));
        int result = device == null ? 0 : bindTo(device);
        if (result < 0) {
            host.ports.give(this);
            setSource(Address.ANY);
            return result;
        }
        hasPort = true;
        state = State.BOUND;
        return 0;
    }

    int resolveAddress(@Nullable Address from, Address to) {
        if (state != State.IDLE && state != State.BOUND || from != null && from.isV4() != to.isV4()) {
            return -Errno.EINVAL;
        }
        if (state == State.IDLE) {
            int result = bind(from == null ? to.isV4() ? Address.ANY : new Address(0, 0, 0) : from);
            if (result < 0) {
                return result;
            }
        }
        Address target = to.isAny() ? to.loopback() : to;
        Devices.Way way = host.devices.find(port, channel.device, source, target);
        int result = way == null ? -Errno.EHOSTUNREACH : bindTo(way.remote().port());
        if (way == null || result < 0) {
            Refusal.forget(); // the event reports the failure
            raise(RdmaCmEventType.RDMA_CM_EVENT_ADDR_ERROR, result);
            return 0;
        }
        remote = way.remote();
        setSource(way.source());
        setDestination(target);
        state = State.ADDRESS_RESOLVED;
        raise(RdmaCmEventType.RDMA_CM_EVENT_ADDR_RESOLVED, 0);
        return 0;
    }

    int resolveRoute() {
        if (state != State.ADDRESS_RESOLVED) {
            return -Errno.EINVAL;
        }
        state = State.ROUTE_RESOLVED;
        raise(RdmaCmEventType.RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
        return 0;
    }

    // Listening.

    int listen(int most) {
        if (state == State.IDLE) {
            int result = bind(Address.ANY);
            if (result < 0) {
                return result;
            }
        }
        if (state != State.BOUND) {
            return -Errno.EINVAL;
        }
        if (host.ports.isServed(this)) {
            return -Errno.EADDRINUSE;
        }
        int result = port == null ? openAll() : 0;
        if (result < 0) {
            return result;
        }
        backlog = most <= 0 ? MAX_BACKLOG : Math.min(most, MAX_BACKLOG);
        halfOpen = new HalfOpen(host.mostHalfOpen);
        state = State.LISTENING;
        return 0;
    }

    /**
     * Opens every device for a wildcard address. Returns 0 if at least one opens, or else the reason of the last
     * failure.
     */
    private int openAll() {
        int result = -Errno.ENODEV;
        for (Hca device : host.devices.all()) {
            result = open(device.gsi());
        }
        if (opened.isEmpty()) {
            return result;
        }
        Refusal.forget();
        return 0;
    }

    boolean isFull() {
        return waiting >= backlog;
    }

    /** Counts a half-open connection, if there is room for it. */
    boolean admits(Connection connection) {
        return halfOpen != null && halfOpen.admit(connection);
    }

    void request(CmEvent event) {
        raise(event);
        waiting++;
    }

    /** Notes that the program took a request from the backlog. */
    void requestTaken() {
        waiting--;
    }

    /** Makes the id of a request to this listener. */
    Id child(Remote from, IpService addresses) {
        var child = new Id(host, channel, portSpace);
        child.remote = from;
        child.bindTo(from.port());
        child.setSource(addresses.destination());
        child.setDestination(addresses.source());
        child.state = State.CONNECTING;
        child.options.inherit(options);
        return child;
    }

    // Connections.

    int connect(Parameters given) {
        if (state != State.ROUTE_RESOLVED || remote == null) {
            return -Errno.EINVAL;
        }
        long service = IpService.id(portSpace, destination.port());
        int result = session.connect(remote, new IpService(source, destination), service, given);
        state = result == 0 ? State.CONNECTING : state;
        return result;
    }

    // Queue pairs and groups.

    /** Fills {@code struct ibv_qp_attr}. Returns the mask, or -errno. */
    int writeAttributes(long attributes, int to) {
        return port == null ? -Errno.EINVAL : session.writeAttributes(attributes, to);
    }

    /** Joins a multicast group. On RoCE v2 the group's GID is its IP address. */
    int join(Address group) {
        if (port == null || takesConnections() || !Gids.isMulticast(group.high(), group.low())) {
            return -Errno.EINVAL;
        }
        Devices.Way way = host.devices.find(port, null, source, group);
        if (way == null) {
            return -Errno.EINVAL; // the group's address family differs from the device's
        }
        groups.add(group);
        Route route = Route.to(way.remote(), options.trafficClass);
        raise(CmEvent.datagrams(this, RdmaCmEventType.RDMA_CM_EVENT_MULTICAST_JOIN, route, 0xffffff,
                RdmaLimits.RDMA_UDP_QKEY));
        return 0;
    }

    int leave(Address group) {
        return groups.removeIf(group::isSameHost) ? 0 : -Errno.EADDRNOTAVAIL;
    }

    /** Destroys the id. Its connection goes on to its end without it. */
    void destroy() {
        if (host.ids.remove(handle()) == null) {
            return;
        }
        session.end();
        if (hasPort) {
            host.ports.give(this);
        }
        var children = new ArrayList<Id>();
        channel.events.removeIf(event -> {
            boolean belongs = event.id == this || event.listener == this;
            if (belongs && event.id != this) {
                children.add(event.id);
            } else if (belongs && event.listener != null) {
                event.listener.requestTaken();
            }
            return belongs;
        });
        children.forEach(Id::destroy);
        opened.forEach(Gsi::close);
        opened.clear();
    }
}
