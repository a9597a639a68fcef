package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.IntSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.QueuePair;
import org.kverbs.RdmaSystemException;
import org.kverbs.Resource;
import org.kverbs.attributes.AsyncEventType;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.SocketAddresses;
import org.kverbs.internal.abi.RdmaCmMcJoinFlags;
import org.kverbs.internal.values.Ranges;
import org.kverbs.spi.ConnectionManager;

/**
 * One end of a connection in the making, as a socket is for TCP ({@code struct rdma_cm_id}). Every step begins here and
 * ends as an event on the {@link ConnectionEventChannel}; nothing here waits for the network.
 *
 * <p><b>Queue pairs</b> are ordinary ones, made on any open {@link Context} of the device that the id is bound to
 * ({@link #deviceName}). The steps of both sides, for a connection:
 * <pre>{@code
 * // who asks                                          // who is asked
 *                                                      id.bind(port); id.listen(backlog)
 * id.resolveAddress(address, timeout)
 *   -> ADDR_RESOLVED
 * id.resolveRoute(timeout)
 *   -> ROUTE_RESOLVED
 * id.prepare(qp, INIT); qp.postReceive(...)
 * id.connect(qp, parameters)
 *                                                        -> CONNECT_REQUEST with id
 *                                                      id.prepare(qp, INIT); qp.postReceive(...)
 *                                                      id.prepare(qp, RTR); id.prepare(qp, RTS)
 *                                                      id.accept(qp, parameters)
 *   -> CONNECT_RESPONSE (not on iWARP)
 * id.prepare(qp, RTR); id.prepare(qp, RTS)
 * id.establish()
 *   -> ESTABLISHED (on iWARP alone)                      -> ESTABLISHED
 * }</pre>
 * On iWARP the device moves the queue pair by itself while it connects, and {@code prepare} does nothing for RTR and
 * RTS; so the same program serves both if it takes either event. For datagrams (UDP) the asking side gets ESTABLISHED
 * with the peer's queue pair and address, and both sides' queue pairs go to RTS by {@code prepare} at any time after
 * the address is resolved.
 *
 * <p><b>Ownership.</b> It belongs to its channel. Closing it ends what is under way on it, without an event, and a
 * connection that is up: the peer gets DISCONNECTED. It does not close the queue pair, and closing that does not close
 * the id.
 *
 * <p><b>Errors.</b> A step that the network or the peer makes fail is a {@link ConnectionException}, by
 * {@link ConnectionEvent#orThrow} of its event, or at once where that is known then. A call that is wrong, too early or
 * too late is an {@link RdmaSystemException}. Both name the address.
 *
 * <p>Safe for any thread. Source: {@code man 7 rdma_cm}, {@code man 3 rdma_create_id} and what it names.
 */
public final class ConnectionId extends Resource {

    private static final int MAX_PRIVATE_DATA = 255;

    final Lifetime lifetime;
    private final ConnectionManager manager;
    private final PortSpace portSpace;
    private final long handle;
    private final boolean passive;
    private final ConnectionIdOptions options = new ConnectionIdOptions(this);
    private final QueuePairPreparer preparer = new QueuePairPreparer(this);
    private final ConnectionAddresses addresses;
    private final ConnectionSteps steps;
    private final Object migration = new Object();
    private volatile ConnectionEventChannel channel;

    ConnectionId(ConnectionEventChannel channel, PortSpace portSpace, long handle, boolean passive) {
        super(new Lifetime(Turn.USERS, channel.lifetime));
        this.lifetime = Lifetime.DOOR.of(this);
        this.channel = channel;
        this.manager = channel.manager;
        this.portSpace = portSpace;
        this.handle = handle;
        this.passive = passive;
        this.addresses = new ConnectionAddresses(this, passive);
        this.steps = new ConnectionSteps(this, addresses);
        channel.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Where its events come. */
    public ConnectionEventChannel channel() {
        return channel;
    }

    /** Whose ports it uses. */
    public PortSpace portSpace() {
        return portSpace;
    }

    /** Whether it was made by a peer's request to a listening id. */
    public boolean isPassive() {
        return passive;
    }

    /** The options of this id, to be set before the step that they are for. */
    public ConnectionIdOptions options() {
        return options;
    }

    ConnectionAddresses addresses() {
        return addresses;
    }

    /**
     * Name of the device that it is bound to, for {@link Device#byName}; null before that, and on every local address.
     */
    public @Nullable String deviceName() {
        return addresses.deviceName();
    }

    /**
     * The device that it is bound to, one of its channel's provider.
     *
     * @throws IllegalStateException if it is bound to none yet, or to every local address
     */
    public Device device() {
        String name = deviceName();
        if (name == null) {
            throw new IllegalStateException(describe() + " is bound to no device yet");
        }
        return channel().device(name);
    }

    /** The device's port that it is bound to, from 1; 0 before that. */
    public int port() {
        return addresses.port();
    }

    /** The local address with its port; null before it is bound or resolved, and if it is none of IP. */
    public @Nullable InetSocketAddress localAddress() {
        return addresses.local();
    }

    /** The peer's address with its port; null before it is resolved, and if it is none of IP. */
    public @Nullable InetSocketAddress peerAddress() {
        return addresses.remote();
    }

    /**
     * Binds to a local address and port ({@code rdma_bind_addr}); a concrete address binds to its device as well.
     *
     * @param local may be the wildcard address for every device; port 0 takes a free one, which {@link #localAddress}
     *     tells
     */
    public void bind(InetSocketAddress local) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SocketAddresses.allocate(arena, local);
            command("rdma_bind_addr(" + SocketAddresses.format(local)
                    + ")", () -> manager.bindAddress(handle, address));
            addresses.bound = local;
        }
    }

    /**
     * As {@link #resolveAddress(InetSocketAddress, InetSocketAddress, Duration)}, from the address that the routing
     * table says.
     */
    public void resolveAddress(InetSocketAddress destination, Duration timeout) {
        steps.resolveAddress(null, destination, timeout);
    }

    /**
     * Finds the device that leads to an address, and binds to it ({@code rdma_resolve_addr}). ADDR_RESOLVED or
     * ADDR_ERROR follows.
     *
     * @param source the local address to come from; its port may be 0
     * @param timeout in which ADDR_ERROR comes if nobody answers for the address
     */
    public void resolveAddress(InetSocketAddress source, InetSocketAddress destination, Duration timeout) {
        steps.resolveAddress(source, destination, timeout);
    }

    /**
     * The same with what {@link ConnectionEventChannel#addressInfo} found: from its source, if it names one, to its
     * destination.
     *
     * @throws IllegalArgumentException if it has no destination, as what was found for who listens
     */
    public void resolveAddress(AddressInfo found, Duration timeout) {
        InetSocketAddress destination = found.destination();
        if (destination == null) {
            throw new IllegalArgumentException(found + " has no destination; ask with AddressHints.active for one");
        }
        steps.resolveAddress(found.source(), destination, timeout);
    }

    /**
     * Finds the way to the address ({@code rdma_resolve_route}). ROUTE_RESOLVED or ROUTE_ERROR follows.
     *
     * @param timeout in which ROUTE_ERROR comes if the subnet manager does not answer
     */
    public void resolveRoute(Duration timeout) {
        steps.resolveRoute(timeout);
    }

    /**
     * Takes connection requests from now on; each comes as CONNECT_REQUEST with an id of its own ({@code rdma_listen}).
     *
     * @param backlog how many may wait to be taken as events
     */
    public void listen(int backlog) {
        InetSocketAddress address = addresses.bound;
        String where = address == null ? "any port" : SocketAddresses.format(address);
        command("rdma_listen(" + where + ")", () -> manager.listen(handle, backlog));
    }

    /**
     * Asks the peer to connect ({@code rdma_connect}). CONNECT_RESPONSE (ESTABLISHED on iWARP and for datagrams),
     * REJECTED, UNREACHABLE or CONNECT_ERROR follows; a peer that is silent is noticed after a minute or more, so
     * whoever waits sets a limit.
     *
     * @param qp in state INIT, with receives posted if the peer may send first
     * @throws IllegalArgumentException if the queue pair is of another device than the id
     */
    public void connect(QueuePair qp, ConnectionParameters parameters) {
        requireSameDevice(qp);
        steps.connect(qp, parameters);
    }

    /**
     * Grants the peer's request ({@code rdma_accept}). ESTABLISHED follows when the peer is ready, else REJECTED,
     * UNREACHABLE or CONNECT_ERROR. For datagrams no event follows.
     *
     * @param qp in state RTS; on iWARP in INIT
     * @throws IllegalArgumentException if the queue pair is of another device than the id
     */
    public void accept(QueuePair qp, ConnectionParameters parameters) {
        requireSameDevice(qp);
        steps.accept(qp, parameters);
    }

    private void requireSameDevice(QueuePair qp) {
        String mine = deviceName();
        String other = qp.protectionDomain().context().device().name();
        if (mine != null && !mine.equals(other)) {
            throw new IllegalArgumentException(
                    qp.describe() + " can't serve " + describe() + ", which is bound to " + mine
                    + ": make the queue pair on that device");
        }
    }

    /**
     * Refuses the peer's request; the peer gets REJECTED ({@code rdma_reject}).
     *
     * @param privateData what the peer is told along with it, at most 148 bytes on InfiniBand and RoCE
     */
    public void reject(byte[] privateData) {
        rejectBy("rdma_reject", privateData, data -> manager.reject(handle, data));
    }

    /**
     * Refuses the peer's request for the vendor's options that it offers ({@link ConnectionIdOptions#remoteEce}); the
     * peer gets REJECTED for {@link RejectReason#VENDOR_OPTION_NOT_SUPPORTED}, so that it may ask again without
     * ({@code rdma_reject_ece}). iWARP has no reasons, and datagrams have no such one: there it is the same as
     * {@link #reject}.
     *
     * @param privateData as for {@link #reject}
     */
    public void rejectEce(byte[] privateData) {
        rejectBy("rdma_reject_ece", privateData, data -> manager.rejectEce(handle, data));
    }

    private void rejectBy(String operation, byte[] privateData, ToIntFunction<MemorySegment> call) {
        Ranges.require("length of private data", privateData.length, 0, MAX_PRIVATE_DATA);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocateFrom(JAVA_BYTE, privateData);
            command(addresses.naming(operation), () -> call.applyAsInt(data));
        }
    }

    /**
     * Tells the peer, after CONNECT_RESPONSE, that the queue pair is in RTS ({@code rdma_establish}); the peer gets
     * ESTABLISHED.
     */
    public void establish() {
        command(addresses.naming("rdma_establish"), () -> manager.establish(handle));
    }

    /**
     * Ends the connection, or answers the peer who did ({@code rdma_disconnect}). DISCONNECTED comes to the peer, and
     * here when the peer has answered by the same call or by closing its id. Moving the queue pair to ERR is its
     * owner's.
     */
    public void disconnect() {
        command(addresses.naming("rdma_disconnect"), () -> manager.disconnect(handle));
    }

    /**
     * Passes on an event of the queue pair: COMM_EST tells an accepting id that data came before the peer's last
     * message, and that the connection is up ({@code rdma_notify}).
     */
    public void notifyOf(AsyncEventType event) {
        command(addresses.naming("rdma_notify"), () -> manager.notify(handle, event.code()));
    }

    /**
     * What {@code rdma_init_qp_attr} has for a queue pair that is to go to a state; empty where the device moves it by
     * itself (iWARP). {@link #prepare} applies it.
     */
    public QueuePairAttributes queuePairAttributes(QueuePairState state) {
        return preparer.attributes(state);
    }

    /**
     * Moves a queue pair to INIT, RTR or RTS for this connection, from the state before; in RTR it gets the peer's
     * rights too. See the class for when. The connection manager leaves the receiver-not-ready timer at code 0, 655 ms:
     * post receives before RTR, or set another timer once in RTS.
     *
     * @throws RdmaSystemException if the id has no attributes for that state yet, or the device refuses
     */
    public void prepare(QueuePair qp, QueuePairState state) {
        requireSameDevice(qp);
        preparer.prepare(qp, state);
    }

    /**
     * Moves it, and its events that wait, to another channel of the same provider, which owns it from then on
     * ({@code rdma_migrate_id}).
     *
     * @throws IllegalArgumentException if the channel is of another provider
     */
    public void migrate(ConnectionEventChannel to) {
        if (to.manager != manager) {
            throw new IllegalArgumentException(describe() + " can't go to " + to.describe()
                    + ": it is of another provider");
        }
        synchronized (migration) {
            ConnectionEventChannel from = channel;
            // a close of this waits until it is the other's altogether
            Lifetime.enterAll(lifetime, from.lifetime, to.lifetime);
            try {
                to.add(handle, this); // an event may come there before the call returns
                Failures.check(addresses.naming("rdma_migrate_id"), manager.migrateId(handle, to.handle()));
                channel = to;
                lifetime.moveTo(to.lifetime);
            } finally {
                (channel == to ? from : to).remove(handle, this);
                Lifetime.exitAll(lifetime, from.lifetime, to.lifetime);
            }
        }
    }

    /** As {@link #joinMulticast(InetSocketAddress, boolean)}, as a full member. */
    public void joinMulticast(InetSocketAddress group) {
        joinMulticast(group, false);
    }

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). MULTICAST_JOIN or MULTICAST_ERROR follows. Attaching
     * the queue pair to the group is its owner's:
     * {@code qp.attachMulticast(event.address().globalRoute().dgid(), event.address().destinationLid())}.
     *
     * @param group its port means nothing
     * @param sendOnly to send to the group without being sent to
     * @throws IllegalArgumentException if it is no multicast address
     */
    public void joinMulticast(InetSocketAddress group, boolean sendOnly) {
        if (group.getAddress() != null && !group.getAddress().isMulticastAddress()) {
            throw new IllegalArgumentException(SocketAddresses.format(group)
                    + " is no multicast address: those of IPv4 are 224.0.0.0 to"
                    + " 239.255.255.255, those of IPv6 begin with ff");
        }
        addresses.group = group;
        int flags = sendOnly
                ? RdmaCmMcJoinFlags.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
                : RdmaCmMcJoinFlags.RDMA_MC_JOIN_FLAG_FULLMEMBER;
        withGroup("rdma_join_multicast_ex", group, address -> manager.joinMulticast(handle, address, flags));
    }

    /** Leaves a multicast group, or ends joining it ({@code rdma_leave_multicast}); closing the id leaves all. */
    public void leaveMulticast(InetSocketAddress group) {
        withGroup("rdma_leave_multicast", group, address -> manager.leaveMulticast(handle, address));
    }

    private void withGroup(String operation, InetSocketAddress group, ToIntFunction<MemorySegment> call) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = SocketAddresses.allocate(arena, group);
            command(operation + "(" + SocketAddresses.format(group) + ")", () -> call.applyAsInt(address));
        }
    }

    /** Calls on this id, with the guard entered. */
    void command(String operation, IntSupplier call) {
        lifetime.call(call, errno -> Failures.of(operation, errno));
    }

    ConnectionManager manager() {
        return manager;
    }

    long handle() {
        return handle;
    }

    private void destroy() {
        Failures.check("rdma_destroy_id(" + describe() + ")", manager.destroyId(handle));
        channel.remove(handle, this);
    }

    @Override
    public String describe() {
        return "connection id (" + portSpace + ")" + addresses.where();
    }
}
