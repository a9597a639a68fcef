package org.kverbs.cm;

import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.Context;
import org.kverbs.Device;
import org.kverbs.QueuePair;
import org.kverbs.RdmaSystemException;
import org.kverbs.Resource;
import org.kverbs.UnsupportedVerbException;
import org.kverbs.attributes.AsyncEventType;
import org.kverbs.attributes.QueuePairAttributes;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.spi.ConnectionManager;

/**
 * One end of a connection, as a socket is for TCP ({@code struct rdma_cm_id}). A call on the id begins a step, and an
 * event on the {@link ConnectionEventChannel} ends it. No call waits for the network.
 *
 * <p><b>Queue pairs.</b> The program makes the queue pair itself, on any open {@link Context} of the device that the id
 * is bound to ({@link #deviceName}). The description of the package shows the steps of both sides. {@link
 * ConnectionEndpoint} takes them all.
 *
 * <p>On iWARP the device moves the queue pair by itself while it connects, and {@code prepare} does nothing for RTR and
 * RTS. So one program serves both if it handles both events. For datagrams (UDP) the connecting side gets ESTABLISHED
 * with the peer's queue pair and address. Both sides move their queue pairs to RTS by {@code prepare}, at any time
 * after the address is resolved.
 *
 * <p><b>Ownership.</b> The id belongs to its channel. Closing the id ends a running step without an event. It also ends
 * an established connection: the peer gets DISCONNECTED. Closing the id does not close the queue pair, and closing the
 * queue pair does not close the id.
 *
 * <p><b>Errors.</b> If the network or the peer makes a step fail, {@link ConnectionEvent#orThrow} of the step's event
 * throws a {@link ConnectionException}; a call throws it if the failure is known at once. A call that is wrong, too
 * early or too late throws an {@link RdmaSystemException}. Both messages name the address.
 *
 * <p>Safe for any thread. Source: {@code man 7 rdma_cm}, {@code man 3 rdma_create_id} and the pages that it refers to.
 */
public final class ConnectionId extends Resource {

    final Lifetime lifetime;
    private final ConnectionManager manager;
    private final PortSpace portSpace;
    private final long handle;
    private final boolean passive;
    private final ConnectionIdOptions options = new ConnectionIdOptions(this);
    private final AddressLookup lookup = new AddressLookup(this);
    private final QueuePairPreparer preparer = new QueuePairPreparer(this);
    private final ConnectionAddresses addresses;
    private final ConnectionSteps steps;
    private final MulticastGroups groups;
    private final Object migration = new Object();
    private volatile ConnectionEventChannel channel;
    private volatile boolean disconnects;

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
        this.groups = new MulticastGroups(this, addresses);
        channel.add(handle, this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy));
    }

    /** Returns the channel that reports the events of this id. */
    public ConnectionEventChannel channel() {
        return channel;
    }

    /** Returns the port space that this id uses. */
    public PortSpace portSpace() {
        return portSpace;
    }

    /** Returns whether a peer's request to a listening id made this id. */
    public boolean isPassive() {
        return passive;
    }

    /**
     * Returns the look-up of addresses whose answer is an event of this id. {@link ConnectionEventChannel#addressInfo}
     * needs no event.
     */
    public AddressLookup addressLookup() {
        return lookup;
    }

    /** Returns the options of this id. Set an option before the step that it is for. */
    public ConnectionIdOptions options() {
        return options;
    }

    ConnectionAddresses addresses() {
        return addresses;
    }

    /**
     * Returns the name of the device that this id is bound to, for {@link Device#byName}. It is null for an id that is
     * not bound yet, or is bound to all local addresses.
     */
    public @Nullable String deviceName() {
        return addresses.deviceName();
    }

    /**
     * Returns the device that this id is bound to, a device of the channel's provider.
     *
     * @throws IllegalStateException if the id is not bound yet, or is bound to all local addresses
     */
    public Device device() {
        String name = deviceName();
        if (name == null) {
            throw new IllegalStateException(describe()
                    + " is bound to no device yet: resolve its address, or bind it to an address of a device");
        }
        return channel().device(name);
    }

    /** Returns the port of the device that this id is bound to, from 1; 0 before that. */
    public int port() {
        return addresses.port();
    }

    /**
     * Returns the local address with its port. It is null before the id is bound or resolved, and for an address that
     * is not IP.
     */
    public @Nullable InetSocketAddress localAddress() {
        return addresses.local();
    }

    /**
     * Returns the peer's address with its port. It is null before the address is resolved, and for an address that is
     * not IP.
     */
    public @Nullable InetSocketAddress peerAddress() {
        return addresses.remote();
    }

    /**
     * Binds the id to a local address and port, and to the device that has the address ({@code rdma_bind_addr}).
     *
     * @param local the address; the wildcard address binds to all devices. Port 0 chooses a free port, which {@link
     *     #localAddress} returns
     */
    public void bind(InetSocketAddress local) {
        steps.bind(local);
    }

    /**
     * Finds the device that leads to an address; see {@link #resolveAddress(InetSocketAddress, InetSocketAddress,
     * Duration)}. The source is the local address of the route.
     */
    public void resolveAddress(InetSocketAddress destination, Duration timeout) {
        steps.resolveAddress(null, destination, timeout);
    }

    /**
     * Finds the device that leads to an address and binds the id to it ({@code rdma_resolve_addr}). ADDR_RESOLVED or
     * ADDR_ERROR follows.
     *
     * @param source the local address to connect from; its port can be 0
     * @param destination the peer's address and port
     * @param timeout after which ADDR_ERROR follows if no host answers for the address
     */
    public void resolveAddress(InetSocketAddress source, InetSocketAddress destination, Duration timeout) {
        steps.resolveAddress(source, destination, timeout);
    }

    /**
     * Finds the device that leads to a result of {@link ConnectionEventChannel#addressInfo}: from its source, if it has
     * one, to its destination.
     *
     * @throws IllegalArgumentException if {@code found} has no destination, as a result of passive hints
     */
    public void resolveAddress(AddressInfo found, Duration timeout) {
        steps.resolveAddress(found.source(), found.requireDestination(), timeout);
    }

    /**
     * Finds the route to the address ({@code rdma_resolve_route}). ROUTE_RESOLVED or ROUTE_ERROR follows.
     *
     * @param timeout after which ROUTE_ERROR follows if the subnet manager does not answer
     */
    public void resolveRoute(Duration timeout) {
        steps.resolveRoute(timeout);
    }

    /**
     * Starts to listen for connection requests. Each request is reported as CONNECT_REQUEST with a new id ({@code
     * rdma_listen}).
     *
     * @param backlog how many requests can wait to be taken as events
     */
    public void listen(int backlog) {
        steps.listen(backlog);
    }

    /** Returns whether {@link #listen} has succeeded. */
    boolean isListening() {
        return steps.isListening();
    }

    /**
     * Asks the peer to connect ({@code rdma_connect}). CONNECT_RESPONSE (ESTABLISHED on iWARP and for datagrams),
     * REJECTED, UNREACHABLE or CONNECT_ERROR follows. If the peer is silent, UNREACHABLE follows only after a minute or
     * more, so set a limit on the wait.
     *
     * @param qp a queue pair in state INIT, with receives posted if the peer can send first
     * @throws IllegalArgumentException if the queue pair and the id are of different devices
     */
    public void connect(QueuePair qp, ConnectionParameters parameters) {
        preparer.requireSameDevice(qp);
        steps.connect(qp, parameters);
    }

    /**
     * Accepts the peer's request ({@code rdma_accept}). ESTABLISHED follows when the peer is ready, otherwise REJECTED,
     * UNREACHABLE or CONNECT_ERROR. For datagrams no event follows.
     *
     * @param qp a queue pair in state RTS; on iWARP in INIT
     * @throws IllegalArgumentException if the queue pair and the id are of different devices
     */
    public void accept(QueuePair qp, ConnectionParameters parameters) {
        preparer.requireSameDevice(qp);
        steps.accept(qp, parameters);
    }

    /**
     * Rejects the peer's request ({@code rdma_reject}). The peer gets REJECTED.
     *
     * @param privateData bytes for the peer, at most 148 on InfiniBand and RoCE
     */
    public void reject(byte[] privateData) {
        steps.reject("rdma_reject", privateData, data -> manager.reject(handle, data));
    }

    /**
     * Rejects the peer's request because of the vendor's options that it offers ({@link ConnectionIdOptions#remoteEce},
     * {@code rdma_reject_ece}). The peer gets REJECTED with {@link RejectReason#VENDOR_OPTION_NOT_SUPPORTED} and can
     * connect again without the options. On iWARP and for datagrams, which do not have this reason, it does the same as
     * {@link #reject}.
     *
     * @param privateData as for {@link #reject}
     */
    public void rejectEce(byte[] privateData) {
        steps.reject("rdma_reject_ece", privateData, data -> manager.rejectEce(handle, data));
    }

    /**
     * Tells the peer, after CONNECT_RESPONSE, that the queue pair is in RTS ({@code rdma_establish}). The peer gets
     * ESTABLISHED.
     */
    public void establish() {
        command(addresses.naming("rdma_establish"), () -> manager.establish(handle));
    }

    /**
     * Ends the connection, or answers a peer that ended it ({@code rdma_disconnect}). The peer gets DISCONNECTED. This
     * side gets DISCONNECTED when the peer has answered by the same call or by closing its id. The program itself moves
     * the queue pair to ERR.
     */
    public void disconnect() {
        disconnects = true;
        command(addresses.naming("rdma_disconnect"), () -> manager.disconnect(handle));
    }

    /** Tells whether this side has begun to disconnect, or has answered the peer. */
    boolean hasDisconnected() {
        return disconnects;
    }

    /**
     * Passes an event of the queue pair to the connection manager ({@code rdma_notify}). COMM_EST tells an accepting id
     * that data arrived before the peer's last message, so the connection is up.
     */
    public void notifyOf(AsyncEventType event) {
        command(addresses.naming("rdma_notify"), () -> manager.notify(handle, event.code()));
    }

    /**
     * Returns the attributes that move a queue pair to a state for this connection ({@code rdma_init_qp_attr}). The set
     * is empty if the device moves the queue pair by itself (iWARP). {@link #prepare} applies the attributes.
     */
    public QueuePairAttributes queuePairAttributes(QueuePairState state) {
        return preparer.attributes(state);
    }

    /**
     * Moves a queue pair to INIT, RTR or RTS for this connection, from the previous state. On the way to RTR it also
     * sets the access rights of the peer. The description of the package shows when to call this. The connection
     * manager sets the receiver-not-ready timer to code 0, 655 ms: post receives before RTR, or set another timer in
     * RTS.
     *
     * @throws RdmaSystemException if the id has no attributes for the state yet, or if the device refuses
     */
    public void prepare(QueuePair qp, QueuePairState state) {
        preparer.prepare(qp, state);
    }

    /**
     * Moves this id and its pending events to another channel of the same provider, which then owns it ({@code
     * rdma_migrate_id}).
     *
     * @throws IllegalArgumentException if the channel is of another provider
     */
    public void migrate(ConnectionEventChannel to) {
        if (to.manager != manager) {
            throw new IllegalArgumentException(describe() + " can't go to " + to.describe()
                    + ": it is of another provider; move it to a channel of the same one");
        }
        synchronized (migration) {
            migrateFrom(channel, to);
        }
    }

    private void migrateFrom(ConnectionEventChannel from, ConnectionEventChannel to) {
        // a close of this id waits until the move is complete
        Lifetime.enterAll(lifetime, from.lifetime, to.lifetime);
        try {
            to.add(handle, this); // an event can arrive there before the call returns
            Failures.check(addresses.naming("rdma_migrate_id"), manager.migrateId(handle, to.handle()));
            channel = to;
            lifetime.moveTo(to.lifetime);
        } finally {
            (channel == to ? from : to).remove(handle, this);
            Lifetime.exitAll(lifetime, from.lifetime, to.lifetime);
        }
    }

    /** Joins a multicast group as a full member; see {@link #joinMulticast(InetSocketAddress, boolean)}. */
    public void joinMulticast(InetSocketAddress group) {
        joinMulticast(group, false);
    }

    /**
     * Joins a multicast group ({@code rdma_join_multicast_ex}). MULTICAST_JOIN or MULTICAST_ERROR follows. The program
     * itself attaches its queue pair to the group: {@code qp.attachMulticast(event.address().globalRoute().dgid(),
     * event.address().destinationLid())}.
     *
     * @param group the address of the group; its port is ignored
     * @param sendOnly whether the id only sends to the group and receives none of its messages
     * @throws IllegalArgumentException if {@code group} is no multicast address
     */
    public void joinMulticast(InetSocketAddress group, boolean sendOnly) {
        groups.join(group, sendOnly);
    }

    /**
     * Leaves a multicast group, or stops joining it ({@code rdma_leave_multicast}). Closing the id leaves all groups.
     */
    public void leaveMulticast(InetSocketAddress group) {
        groups.leave(group);
    }

    /**
     * Adds an event of the program to those of this id, to tell the thread that waits on the channel something ({@code
     * rdma_write_cm_event}). USER follows. Any thread can call this.
     *
     * @param status the {@link ConnectionEvent#status} of the event, of any meaning
     * @param argument the {@link ConnectionEvent#argument} of the event
     * @throws UnsupportedVerbException if the library is older than rdma-core 60
     * @throws RdmaSystemException EINVAL if the kernel does not know the call
     */
    public void writeEvent(int status, long argument) {
        optional("rdma_write_cm_event(status=" + status + ", arg=" + argument + ")",
                () -> manager.writeEvent(handle, status, argument));
    }

    /** Makes a call that not every release of librdmacm has, with the guard entered. */
    void optional(String operation, IntSupplier call) {
        lifetime.call(call, errno -> Failures.optional(this, operation, errno, Failures.SINCE_60));
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

    @Override
    protected long nativeAddress() {
        return manager().isNative() ? handle : 0;
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
