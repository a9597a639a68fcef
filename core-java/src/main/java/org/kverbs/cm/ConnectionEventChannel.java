package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.kverbs.Device;
import org.kverbs.DeviceNotFoundException;
import org.kverbs.LibraryUnavailableException;
import org.kverbs.RdmaSystemException;
import org.kverbs.Resource;
import org.kverbs.internal.Lifetime;
import org.kverbs.internal.Lifetime.Ending;
import org.kverbs.internal.Lifetime.Turn;
import org.kverbs.internal.Providers;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.RdmaCmEvent;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ConnectionManager;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * A channel that makes connection ids and reports their events ({@code struct rdma_event_channel}). One channel serves
 * any number of ids, so a program needs no thread for each connection.
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
 * <p><b>Ownership.</b> Closing the channel closes its ids. The program makes the queue pairs itself: see {@link
 * ConnectionId}.
 *
 * <p>Safe for any thread. Take the events of a channel by one thread. With several threads the order of events is lost,
 * and a thread can get an event of a new id before another thread has returned from the CONNECT_REQUEST that made the
 * id.
 *
 * <p>Source: {@code man 7 rdma_cm}, {@code man 3 rdma_create_event_channel}, {@code rdma_get_cm_event}.
 */
public final class ConnectionEventChannel extends Resource {

    final Lifetime lifetime;
    final ConnectionManager manager;
    /** The device that the channel was opened by. */
    private final Device device;

    private final long handle;
    private final Map<Long, ConnectionId> ids = new ConcurrentHashMap<>();

    private ConnectionEventChannel(ConnectionManager manager, Device device, long handle) {
        super(new Lifetime(Turn.USERS));
        this.manager = manager;
        this.device = device;
        this.handle = handle;
        this.lifetime = Lifetime.DOOR.of(this);
        lifetime.begin(this, Ending.of(this::describe, this::destroy).waking(this::wake));
    }

    /**
     * Opens a channel of the first provider that has devices: the native one if this machine has RDMA hardware,
     * otherwise the embedded one.
     *
     * @throws LibraryUnavailableException if librdmacm is missing; the message names the package to install
     * @throws DeviceNotFoundException if no device has a connection manager
     * @throws RdmaSystemException if the system refuses, such as ENOENT or EACCES if this user cannot open
     *     /dev/infiniband/rdma_cm
     */
    public static ConnectionEventChannel open() {
        return openAny("any device with a connection manager", device -> true);
    }

    /**
     * Opens a channel of a provider by name: {@code native} or {@code embedded}.
     *
     * @throws DeviceNotFoundException if the provider has no device or no connection manager
     */
    public static ConnectionEventChannel open(String provider) {
        Objects.requireNonNull(provider, "provider");
        return openAny(
                "a device of provider " + provider + " with a connection manager",
                device -> device.provider().equals(provider));
    }

    /**
     * Opens a channel of a device's provider. An id of the channel is bound to the device that leads to its address,
     * which can be another device of that provider. If several embedded devices lead to an address, the ids take this
     * device.
     *
     * @throws IllegalArgumentException if the device's provider has no connection manager
     */
    public static ConnectionEventChannel open(Device device) {
        ConnectionManager manager = managerOf(device);
        return open(manager, device, () -> manager.createEventChannel(device.name()));
    }

    /** Opens a channel of the first device of those that match whose provider has a connection manager. */
    private static ConnectionEventChannel openAny(String asked, Predicate<Device> matches) {
        List<Device> devices = Device.list();
        for (Device device : devices) {
            ConnectionManager manager = matches.test(device) ? Providers.DOOR.of(device).connectionManager() : null;
            if (manager != null) {
                return open(manager, device, manager::createEventChannel);
            }
        }
        throw new DeviceNotFoundException(asked, devices.stream().map(Device::name).toList());
    }

    private static ConnectionManager managerOf(Device device) {
        ConnectionManager manager = Providers.DOOR.of(device).connectionManager();
        if (manager == null) {
            throw new IllegalArgumentException(
                    "provider " + device.provider() + " of " + device.name()
                    + " has no connection manager: exchange endpoints, and connect"
                            + " by QueuePair.connect");
        }
        return manager;
    }

    private static ConnectionEventChannel open(ConnectionManager manager, Device device, LongSupplier create) {
        return Lifetime.create(
                create,
                errno -> Failures.of("rdma_create_event_channel()", errno),
                h -> new ConnectionEventChannel(manager, device, h));
    }

    /** Returns the name of the channel's provider: {@code native} for librdmacm. */
    public String provider() {
        return device.provider();
    }

    /** Opens another channel of the same provider, with the same device preferred. */
    ConnectionEventChannel another() {
        return open(manager, device, () -> manager.createEventChannel(device.name()));
    }

    /** Returns the devices that ids of this channel can be bound to ({@code rdma_get_devices}). */
    public List<Device> devices() {
        lifetime.enter();
        try {
            return manager.deviceNames().stream().map(this::device).toList();
        } finally {
            lifetime.exit();
        }
    }

    /** Returns a device of the channel's provider by its name. */
    Device device(String name) {
        if (name.equals(device.name())) {
            return device;
        }
        VerbsProvider provider = Providers.DOOR.of(device);
        List<VerbsDevice> all = provider.devices();
        return all.stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .map(each -> Device.of(provider, each))
                .orElseThrow(() -> new DeviceNotFoundException(
                        "device '" + name + "'", all.stream().map(VerbsDevice::name).toList()));
    }

    long handle() {
        return handle;
    }

    @Override
    protected long nativeAddress() {
        return manager.isNative() ? handle : 0;
    }

    void add(long id, ConnectionId made) {
        ids.put(id, made);
    }

    /** Removes an id that was destroyed or moved to another channel, unless a new id already has its address. */
    void remove(long id, ConnectionId gone) {
        ids.remove(id, gone);
    }

    /** Makes a connection id ({@code rdma_create_id}). */
    public ConnectionId id(PortSpace portSpace) {
        if (portSpace == PortSpace.UNKNOWN) {
            throw new IllegalArgumentException("UNKNOWN is no port space: take TCP for connections, UDP for datagrams");
        }
        return Lifetime.create(
                () -> manager.createId(handle, portSpace.code()),
                errno -> Failures.of("rdma_create_id(" + portSpace + ")", errno),
                h -> new ConnectionId(this, portSpace, h, false),
                lifetime);
    }

    /**
     * Returns a file descriptor for poll or epoll that is readable while an event is pending, or -1 if the provider has
     * none. The descriptor is non-blocking. Only {@link #awaitEvent} may read from it.
     */
    public int fd() {
        lifetime.enter();
        try {
            return manager.eventChannelFd(handle);
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Waits for an event, copies it and acknowledges it ({@code rdma_get_cm_event}, {@code rdma_ack_cm_event}). Blocks
     * the calling thread; a virtual thread blocks its carrier too. Each event goes to one caller. Events of closed ids
     * are dropped.
     *
     * @param timeout how long to wait; zero checks once
     * @return the event, or null if the time ran out
     * @throws IllegalStateException if the channel is closed or another thread closes it during the wait
     * @throws InterruptedException if the thread is interrupted; the call notices it within 100 ms
     */
    public @Nullable ConnectionEvent awaitEvent(Duration timeout) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.NANOSECONDS.convert(timeout);
        lifetime.enter();
        try {
            while (true) {
                long event = manager.awaitEvent(handle, Math.max(0, deadline - System.nanoTime()));
                if (event == -Errno.EINTR) {
                    Thread.interrupted();
                    throw new InterruptedException("interrupted while waiting for an event of " + describe());
                }
                if (event < 0) {
                    throw Failures.of("rdma_get_cm_event(" + describe() + ")", (int) -event);
                }
                if (event == 0) {
                    if (!isOpen()) {
                        throw lifetime.closed();
                    }
                    return null;
                }
                ConnectionEvent copy = take(event);
                if (copy != null) {
                    return copy;
                }
            }
        } finally {
            lifetime.exit();
        }
    }

    /**
     * Copies an event and acknowledges it, since no id can be closed before that. Returns null for an event of an id
     * that is being closed.
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
        Failures.check("rdma_ack_cm_event(" + describe() + ")", acknowledged);
        if (listener != null && id != null) {
            id.lifetime.register();
            if (!listener.isOpen()) { // the listener is closed, so no program can accept the request
                id.close();
                return null;
            }
        } else if (listening != 0) {
            Failures.check("rdma_destroy_id(of a closed listener)", manager.destroyId(of));
        }
        return id != null && id.isOpen() ? copy : null;
    }

    /**
     * Finds the addresses of a host and a service by their names, for {@link ConnectionId#bind} and {@link
     * ConnectionId#resolveAddress} ({@code rdma_getaddrinfo}). Blocks the calling thread while it asks name servers.
     *
     * @param node the host name or address; null with passive hints for all local addresses
     * @param service the port number or a name in /etc/services; null for port 0
     * @param hints the kind of addresses to find
     * @return at least one address, the best first
     * @throws RdmaSystemException ENOENT if the name does not exist
     */
    public List<AddressInfo> addressInfo(@Nullable String node, @Nullable String service, AddressHints hints) {
        lifetime.enter();
        try {
            return AddressInfo.query(manager, node, service, hints);
        } finally {
            lifetime.exit();
        }
    }

    private void wake() {
        manager.wakeEventChannel(handle);
    }

    private void destroy() {
        Failures.check("rdma_destroy_event_channel(" + describe() + ")", manager.destroyEventChannel(handle));
    }

    @Override
    public String describe() {
        return "connection event channel (" + provider() + ")";
    }
}
