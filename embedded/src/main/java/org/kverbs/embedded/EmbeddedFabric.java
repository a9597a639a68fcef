package org.kverbs.embedded;

import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.Device;
import org.kverbs.QueuePair;
import org.kverbs.attributes.AsyncEventType;
import org.kverbs.attributes.Gid;
import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.LockedCalls;
import org.kverbs.embedded.internal.network.InProcessNetwork;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.spi.VerbsProvider;

/**
 * Joins embedded devices in this JVM, and injects faults between them.
 *
 * <pre>{@code
 * try (EmbeddedFabric fabric = EmbeddedFabric.virtual(42)) {
 *     Device client = fabric.addDevice();
 *     Device server = fabric.addDevice();
 *     fabric.setFaults(Faults.NONE.loss(0.1));
 *     ...
 * }
 * }</pre>
 *
 * <p>Without faults the device copies a message from memory to memory at once. With faults, messages travel as RoCEv2
 * packets, and the seed decides the fate of each packet. With the {@linkplain #virtual virtual clock} and one thread,
 * every run has the same order of events, the same queue pair numbers and the same keys. Any thread may use a fabric.
 *
 * <p>The devices enforce what hardware demands ({@link Semantics#STRICT}), unless a test adds them with other
 * semantics. A test can choose the {@linkplain DeviceLimits limits} of a device, {@linkplain #inject let calls and work
 * requests fail}, and {@linkplain #raise(Device, AsyncEventType) raise} asynchronous events.
 */
public final class EmbeddedFabric implements AutoCloseable {

    private final Engine engine;
    private final LockedCalls calls;
    private final InProcessNetwork network;
    private final @Nullable VirtualClock clock;
    private final FabricDevices devices;
    private final EmbeddedProvider provider;
    private final EmbeddedConnectionManager connectionManager;
    private final MisuseLog misuses = new MisuseLog(MisuseLog::warn);
    private @Nullable Watch watch;
    private @Nullable PacketCapture capture;
    private @Nullable InjectedFailures failures;

    private EmbeddedFabric(boolean virtual, Random random) {
        this.engine = new Engine(virtual);
        this.calls = new LockedCalls(engine);
        this.devices = new FabricDevices(engine, random);
        this.network = new InProcessNetwork(engine, random);
        this.connectionManager = new EmbeddedConnectionManager(engine, random);
        this.provider = EmbeddedProvider.of(devices::embedded, this::connectionManager);
        this.clock = virtual ? new VirtualClock(engine) : null;
    }

    /**
     * Makes a fabric with a virtual clock.
     *
     * @param seed decides faults, queue pair numbers and keys
     */
    public static EmbeddedFabric virtual(long seed) {
        return new EmbeddedFabric(true, new Random(seed));
    }

    /**
     * Makes a fabric that runs in real time.
     *
     * @param seed decides faults, queue pair numbers and keys
     */
    public static EmbeddedFabric realTime(long seed) {
        return new EmbeddedFabric(false, new Random(seed));
    }

    /** Makes a fabric that runs in real time, with queue pair numbers and keys that nobody can guess. */
    static EmbeddedFabric unpredictable(Random random) {
        return new EmbeddedFabric(false, random);
    }

    /**
     * Adds a device of {@link Semantics#STRICT}. The devices are called {@code embedded0}, {@code embedded1} and so on;
     * their IPv4 addresses are 198.18.0.1 and following.
     */
    public Device addDevice() {
        return addDevice(Semantics.STRICT);
    }

    /** Adds a device as {@link #addDevice()} does, with these semantics. */
    public Device addDevice(Semantics semantics) {
        return addDevice(semantics, DeviceLimits.DEFAULTS);
    }

    /** Adds a device as {@link #addDevice()} does, with these limits. */
    public Device addDevice(DeviceLimits limits) {
        return addDevice(Semantics.STRICT, limits);
    }

    /** Adds a device as {@link #addDevice()} does, with these semantics and limits. */
    public synchronized Device addDevice(Semantics semantics, DeviceLimits limits) {
        Objects.requireNonNull(limits, "limits");
        Objects.requireNonNull(semantics, "semantics");
        add("embedded" + devices.all().size(), semantics, limits);
        return devices.all().getLast();
    }

    synchronized EmbeddedDevice add(String name, Semantics semantics, DeviceLimits limits) {
        Hca hca = devices.make(name, semantics, limits);
        if (watch != null) {
            hca.watch(watch);
        }
        hca.tellOfFreed(misuses::add);
        if (failures != null) {
            hca.fail(failures);
        }
        network.add(hca);
        EmbeddedDevice device = devices.add(hca, provider);
        connectionManager.add(hca);
        return device;
    }

    Engine engine() {
        return engine;
    }

    Hca hca(Device device) {
        return devices.hca(device);
    }

    /** Returns the provider of this fabric's devices. Its connection manager joins these devices and no others. */
    public VerbsProvider provider() {
        return provider;
    }

    /**
     * Returns the connection manager. The configuration also adds devices to it that are not in this fabric's network.
     */
    EmbeddedConnectionManager connectionManager() {
        return connectionManager;
    }

    /** Returns the devices in the order in which they were added. */
    public List<Device> devices() {
        return devices.all();
    }

    /**
     * Returns the virtual clock.
     *
     * @throws IllegalStateException if this fabric runs in real time
     */
    public VirtualClock clock() {
        if (clock == null) {
            throw new IllegalStateException("this fabric runs in real time and has no clock to move: make it with"
                    + " EmbeddedFabric.virtual(seed)");
        }
        return clock;
    }

    /** Sets the faults between all devices, from now on. */
    public void setFaults(Faults faults) {
        Objects.requireNonNull(faults, "faults");
        calls.run(() -> network.setFaults(faults));
    }

    /**
     * Sets the faults on the way from one device to another, from now on. The way back keeps its faults.
     *
     * @throws IllegalArgumentException if one of the devices is not of this fabric
     */
    public void setFaults(Device from, Device to, Faults faults) {
        Objects.requireNonNull(faults, "faults");
        Hca source = devices.hca(from);
        Hca target = devices.hca(to);
        calls.run(() -> network.setFaults(source, target, faults));
    }

    /** Drops all packets between two devices, in both directions, until {@link #heal}. */
    public void partition(Device one, Device other) {
        setFaults(one, other, Faults.NONE.loss(1));
        setFaults(other, one, Faults.NONE.loss(1));
    }

    /** Ends a {@link #partition}: both ways between the two devices then have no faults. */
    public void heal(Device one, Device other) {
        setFaults(one, other, Faults.NONE);
        setFaults(other, one, Faults.NONE);
    }

    /**
     * {@linkplain #diagnose(Consumer) Turns the diagnostics on}. Each finding is logged as a warning of the {@link
     * System.Logger} named {@code org.kverbs.embedded}.
     */
    public void diagnose() {
        diagnose(MisuseLog::warn);
    }

    /**
     * Turns the diagnostics on, for all requests that are posted from now on. They stay on. The diagnostics find
     * mistakes that a card does not report ({@link BufferMisuse}). A correct program sees no difference. Until the
     * program polls its completion, the memory of a posted receive, read or atomic is full of {@link
     * BufferMisuse#POISON}, even if data has arrived in it. (For an unsignaled request: until the program polls a later
     * completion of the same send queue.) After that the memory holds the data that arrived and, elsewhere, its former
     * content.
     *
     * <p>The diagnostics keep a copy of all posted memory on the Java heap, which makes each post and poll slower. They
     * do not find these mistakes:
     * <ul>
     * <li>The program writes exactly the poison, or writes to a source the bytes that are already there.
     * <li>An entry is longer than 256 MiB.
     * <li>A request overlaps others, after the overlap was reported. The same holds for posted memory that a peer reads
     * or writes, from then on.
     * <li>The memory is the target of a peer's write or atomic, which has no completion on this side.
     * </ul> If a thread frees memory while the device copies it, the JVM may end, with or without the diagnostics.
     *
     * @param listener called at once by the thread that polls, posts or closes, with the lock of all devices held: it
     *     must return quickly and must not wait for another thread. If it throws, the exception is logged
     * @throws IllegalStateException if the diagnostics are on
     */
    public synchronized void diagnose(Consumer<? super BufferMisuse> listener) {
        if (watch != null) {
            throw new IllegalStateException("the diagnostics of this fabric are already on: turn them on once,"
                    + " before the fabric is used");
        }
        misuses.tell(Objects.requireNonNull(listener, "listener"));
        Watch diagnostics = new Watch(misuses::add);
        watch = diagnostics;
        calls.run(() -> devices.forEach(each -> each.watch(diagnostics)));
    }

    /**
     * Returns the first 1000 misuses in the order in which they were found. Without diagnostics the list holds only
     * {@link BufferMisuse.Kind#MEMORY_FREED}.
     */
    public List<BufferMisuse> misuses() {
        return misuses.found();
    }

    /**
     * Lets a call or a work request fail on any device of this fabric, including devices that are added later. If
     * several failures are injected for one operation, each counts on its own.
     *
     * @return counts the failures; closing it ends the injection
     */
    public Injection inject(Failure failure) {
        return inject((Hca) null, failure);
    }

    /**
     * Lets a call or a work request fail on one device.
     *
     * @return counts the failures; closing it ends the injection
     * @throws IllegalArgumentException if the device is not of this fabric
     */
    public Injection inject(Device device, Failure failure) {
        return inject(devices.hca(device), failure);
    }

    private synchronized Injection inject(@Nullable Hca device, Failure failure) {
        var injection = new Injection(Objects.requireNonNull(failure, "failure"));
        InjectedFailures all = failures == null ? new InjectedFailures() : failures;
        failures = all;
        calls.run(() -> {
            all.add(device, injection);
            devices.forEach(each -> each.fail(all));
        });
        return injection;
    }

    /**
     * Raises an asynchronous event of a device or its port in all open contexts of the device, as hardware does.
     * DEVICE_FATAL breaks the device for ever: its queue pairs go to the error state and flush, its peers hear nothing
     * from it, and calls are refused with EIO, except calls that close, poll or post.
     *
     * @param type DEVICE_FATAL, or an event of the port that changes no state here, such as PORT_ERR, LID_CHANGE or
     *     GID_CHANGE
     * @throws IllegalArgumentException if the device is not of this fabric, or if the event is not an event of a device
     */
    public void raise(Device device, AsyncEventType type) {
        Hca source = devices.hca(device);
        RaisableEvents.requireOfDevice(type);
        calls.run(() -> {
            if (type == AsyncEventType.DEVICE_FATAL) {
                network.remove(source);
            }
            source.raise(type.code());
        });
    }

    /**
     * Raises an asynchronous event of a queue pair. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR move the queue pair to the
     * error state, as on hardware.
     *
     * @param type an event whose source is a queue pair, such as QP_FATAL, COMM_EST or PATH_MIG_ERR
     * @throws IllegalArgumentException if the queue pair is not of this fabric or is closed, or if the event is not an
     *     event of a queue pair
     */
    public void raise(QueuePair queuePair, AsyncEventType type) {
        Hca source = devices.hca(queuePair.protectionDomain().context().device());
        RaisableEvents.requireOfQueuePair(type);
        calls.run(() -> {
            if (!source.raise(queuePair.number(), type.code())) {
                throw new IllegalArgumentException(queuePair.describe() + " is closed");
            }
        });
    }

    /** Unplugs a device's cable: the device raises PORT_ERR, and its packets are lost. */
    public void linkDown(Device device) {
        setUp(device, false);
    }

    /**
     * Loses all packets to and from an address of a device, until {@link #addressUp}. The device does not notice. Its
     * other address still works, so that queue pairs can migrate to a path over it.
     */
    public void addressDown(Gid address) {
        calls.run(() -> network.lose(address.subnetPrefix(), address.interfaceId(), true));
    }

    /** Ends {@link #addressDown}. */
    public void addressUp(Gid address) {
        calls.run(() -> network.lose(address.subnetPrefix(), address.interfaceId(), false));
    }

    /** Plugs a device's cable in again: the device raises PORT_ACTIVE. */
    public void linkUp(Device device) {
        setUp(device, true);
    }

    /** Cuts a device off from its peers for ever. The device itself does not notice. */
    public void kill(Device device) {
        Hca dead = devices.hca(device);
        calls.run(() -> network.remove(dead));
    }

    /**
     * Writes the packets that arrive at the devices from now on to a pcap file, for Wireshark, tshark and other
     * readers, until the capture or the fabric is closed. The file holds each packet as on a wire, from its IP header
     * on and with its ICRC: RoCEv2 over IPv4 or IPv6, by its GIDs. A packet that a fault drops is absent; a duplicated
     * packet is there twice; a damaged packet has a wrong ICRC; a packet to a multicast group is there once for each
     * device. Times are those of the {@linkplain #clock virtual clock}, from 0 on, or the real ones.
     *
     * <p>Without a capture and without faults, messages go from memory to memory as a whole. During a capture they
     * travel as packets of the path MTU, with acknowledgements, which is slower.
     *
     * <pre>{@code
     * try (PacketCapture capture = fabric.capture(Path.of("echo.pcap"))) {
     *     ...
     * }
     * }</pre>
     *
     * @param file created anew; an existing file is replaced
     * @throws java.io.UncheckedIOException if the file can't be written
     * @throws IllegalStateException if a capture of this fabric is open
     */
    public synchronized PacketCapture capture(Path file) {
        Objects.requireNonNull(file, "file");
        if (capture != null && !capture.isClosed()) {
            throw new IllegalStateException("a capture of this fabric is open: close it before you begin another");
        }
        capture = new PacketCapture(file, engine, network);
        return capture;
    }

    /**
     * Returns the most packets that have waited for a device so far, while it was a {@linkplain Faults#slowReceiver
     * slow receiver}.
     *
     * @throws IllegalArgumentException if the device is not of this fabric
     */
    public int longestQueue(Device device) {
        Hca target = devices.hca(device);
        return Math.toIntExact(calls.find(() -> network.longestQueue(target)));
    }

    /** Returns how many packets faults have dropped, duplicated, reordered or damaged so far. */
    public long faultsInjected() {
        return calls.find(network::faultsInjected);
    }

    private void setUp(Device device, boolean up) {
        Hca changed = devices.hca(device);
        calls.run(() -> changed.setUp(up));
    }

    /**
     * Ends the fabric's own thread, if it has one, and an open {@link #capture}. It does not close open contexts; their
     * owners do.
     */
    @Override
    public void close() {
        engine.close();
        PacketCapture open = ongoing();
        if (open != null) {
            open.close();
        }
    }

    private synchronized @Nullable PacketCapture ongoing() {
        return capture;
    }
}
