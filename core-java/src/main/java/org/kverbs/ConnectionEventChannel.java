package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.internal.SystemErrors;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.RdmaCmEvent;
import org.kverbs.internal.ffm.Memory;
import org.kverbs.spi.ConnectionManager;

/**
 * Where connections begin: connection ids are made from a channel, and what happens to them is reported on it
 * ({@code struct rdma_event_channel}). One channel serves any number of ids; nothing here needs a thread for each
 * connection.
 *
 * <pre>{@code
 * try (ConnectionEventChannel channel = ConnectionEventChannel.open()) {
 *     ConnectionId id = channel.id(PortSpace.TCP);
 *     id.resolveAddress(new InetSocketAddress("10.0.0.1", 7471), Duration.ofSeconds(2));
 *     ConnectionEvent event = channel.awaitEvent(Duration.ofSeconds(3)); // null if none came
 *     event.orThrow(); // ADDR_RESOLVED
 *     ...
 * }
 * }</pre>
 *
 * <p><b>Ownership.</b> Closing the channel closes its ids. Queue pairs are not made here: see {@link ConnectionId}.
 *
 * <p>Safe for any thread. Let one thread take a channel's events: with several, the order of what happened is lost, and
 * so is what happened to a request's id before the thread that got the request has come back with it.
 *
 * <p>Source: {@code man 7 rdma_cm}, {@code man 3 rdma_create_event_channel}, {@code rdma_get_cm_event}.
 */
public final class ConnectionEventChannel extends Resource {

    final ConnectionManager manager;
    /** What it was opened by. */
    private final Device device;

    private final long handle;
    private final Map<Long, ConnectionId> ids = new ConcurrentHashMap<>();

    private ConnectionEventChannel(ConnectionManager manager, Device device, long handle) {
        super(List.of());
        this.manager = manager;
        this.device = device;
        this.handle = handle;
    }

    /**
     * Opens a channel of the first provider that has devices: that of the hardware, if there is any, else the embedded
     * one.
     *
     * @throws LibraryUnavailableException if librdmacm is not there; says what to install
     * @throws DeviceNotFoundException if there is no device with a connection manager
     * @throws RdmaSystemException if the system refuses, such as ENOENT or EACCES where /dev/infiniband/rdma_cm is not
     *     there for this user
     */
    public static ConnectionEventChannel open() {
        return openAny(Device.withConnections("any device with a connection manager", device -> true));
    }

    /**
     * Opens a channel of a provider by name: {@code native} or {@code embedded}.
     *
     * @throws DeviceNotFoundException if no device of it has a connection manager
     */
    public static ConnectionEventChannel open(String provider) {
        Objects.requireNonNull(provider, "provider");
        return openAny(Device.withConnections(
                "a device of provider " + provider + " with a connection manager",
                device -> device.provider().equals(provider)));
    }

    /**
     * Opens a channel of a device's provider. Its ids may find other devices of that provider: the address decides.
     * Where several embedded devices lead to an address, its ids take this device.
     *
     * @throws IllegalArgumentException if the device's provider has no connection manager
     */
    public static ConnectionEventChannel open(Device device) {
        ConnectionManager manager = managerOf(device);
        return open(manager, device, () -> manager.createEventChannel(device.name()));
    }

    private static ConnectionEventChannel openAny(Device device) {
        ConnectionManager manager = managerOf(device);
        return open(manager, device, manager::createEventChannel);
    }

    private static ConnectionManager managerOf(Device device) {
        ConnectionManager manager = device.connectionManager();
        if (manager == null) {
            throw new IllegalArgumentException(
                    "provider " + device.provider() + " of " + device.name()
                    + " has no connection manager: exchange endpoints, and connect"
                            + " by QueuePair.connect");
        }
        return manager;
    }

    private static ConnectionEventChannel open(ConnectionManager manager, Device device, LongSupplier create) {
        return create("rdma_create_event_channel()", create, h -> new ConnectionEventChannel(manager, device, h));
    }

    /** Which provider it is of: {@code native} for librdmacm. */
    public String provider() {
        return device.provider();
    }

    /** The device of a name of its provider. */
    Device device(String name) {
        return device.ofProvider(name);
    }

    long handle() {
        return handle;
    }

    void add(long id, ConnectionId made) {
        ids.put(id, made);
    }

    /** The id is destroyed or gone to another channel, and a new one may already have its address. */
    void remove(long id, ConnectionId gone) {
        ids.remove(id, gone);
    }

    /** Makes a connection id ({@code rdma_create_id}). */
    public ConnectionId id(PortSpace portSpace) {
        if (portSpace == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("UNKNOWN is no port space: take TCP for connections, UDP for datagrams");
        }
        return create(
                "rdma_create_id(" + portSpace + ")",
                () -> manager.createId(handle, portSpace.code()),
                h -> new ConnectionId(this, portSpace, h, false),
                this);
    }

    /**
     * A file descriptor that is readable when an event waits, for poll or epoll; -1 where the provider has none. It is
     * non-blocking. Never read it: {@link #awaitEvent} does.
     */
    public int fd() {
        enterShared(this);
        try {
            return manager.eventChannelFd(handle);
        } finally {
            exitShared(this);
        }
    }

    /**
     * Waits for an event, copies it and acknowledges it ({@code rdma_get_cm_event}, {@code rdma_ack_cm_event}). Blocks
     * the calling thread, a virtual one together with its carrier. Each event goes to one caller; those of ids that are
     * closed go to nobody.
     *
     * @param timeout zero looks once
     * @return the event, or null if the time ran out
     * @throws IllegalStateException if the channel is closed, also while waiting
     * @throws InterruptedException if the thread is interrupted, noticed within 100 ms
     */
    public @Nullable ConnectionEvent awaitEvent(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        enterShared(this);
        try {
            while (true) {
                long event = manager.awaitEvent(handle, Math.max(0, deadline - System.nanoTime()));
                if (event == -Errno.EINTR) {
                    Thread.interrupted();
                    throw new InterruptedException("interrupted while waiting for an event of " + describe());
                }
                if (event < 0) {
                    throw SystemErrors.of("rdma_get_cm_event(" + describe() + ")", (int) -event);
                }
                if (event == 0) {
                    if (!isOpen()) {
                        throw closed();
                    }
                    return null;
                }
                ConnectionEvent copy = take(event);
                if (copy != null) {
                    return copy;
                }
            }
        } finally {
            exitShared(this);
        }
    }

    /**
     * Copies an event and acknowledges it, for no id can be closed before that. Null if it is of an id that is being
     * closed.
     */
    private @Nullable ConnectionEvent take(long event) {
        MemorySegment fields = Memory.at(event, RdmaCmEvent.SIZE);
        long of = fields.get(JAVA_LONG, RdmaCmEvent.ID);
        long listening = fields.get(JAVA_LONG, RdmaCmEvent.LISTEN_ID);
        ConnectionId listener = listening == 0 ? null : ids.get(listening);
        ConnectionId id = listener == null ? ids.get(of) : new ConnectionId(this, listener.portSpace(), of, true);
        ConnectionEvent copy;
        int acknowledged;
        try {
            copy = id == null ? null : ConnectionEvent.from(fields, id, listener);
        } finally {
            acknowledged = manager.ackEvent(event);
        }
        SystemErrors.check("rdma_ack_cm_event(" + describe() + ")", acknowledged);
        if (listener != null && id != null) {
            id.register();
            if (!listener.isOpen()) { // nobody is there to accept
                id.close();
                return null;
            }
        } else if (listening != 0) {
            SystemErrors.check("rdma_destroy_id(of a closed listener)", manager.destroyId(of));
        }
        return id != null && id.isOpen() ? copy : null;
    }

    /**
     * The addresses behind a host and a service name, for {@link ConnectionId#bind} and
     * {@link ConnectionId#resolveAddress} ({@code rdma_getaddrinfo}). May ask name servers, and blocks the calling
     * thread meanwhile.
     *
     * @param node host name or address; null with a passive hint for every local address
     * @param service port number or a name in /etc/services; null for port 0
     * @param hints what is wanted
     * @return at least one, the best first
     * @throws RdmaSystemException ENOENT if there is no such name
     */
    public List<AddressInfo> addressInfo(@Nullable String node, @Nullable String service, AddressHints hints) {
        enterShared(this);
        try {
            return AddressInfo.query(manager, node, service, hints);
        } finally {
            exitShared(this);
        }
    }

    @Override
    void wake() {
        manager.wakeEventChannel(handle);
    }

    @Override
    void destroy() {
        SystemErrors.check("rdma_destroy_event_channel(" + describe() + ")", manager.destroyEventChannel(handle));
    }

    @Override
    public String describe() {
        return "connection event channel (" + provider() + ")";
    }
}
