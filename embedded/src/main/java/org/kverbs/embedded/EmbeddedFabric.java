package org.kverbs.embedded;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kverbs.AsyncEventType;
import org.kverbs.Device;
import org.kverbs.QueuePair;
import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.network.InProcessNetwork;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.transport.Hca;
import org.kverbs.embedded.internal.watch.Watch;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * Embedded devices of one's own, joined in this JVM, with all that can go wrong between them.
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
 * <p>Without faults a message goes from memory to memory at once. With faults it goes as RoCEv2 packets, whose fate
 * follows from the seed; with the {@linkplain #virtual virtual clock} and one thread everything happens in the same
 * order each time, queue pair numbers and keys too. Any thread may use it.
 *
 * <p>Its devices hold a program to what hardware demands ({@link Semantics#STRICT}), unless they are added otherwise. A
 * test chooses their {@linkplain DeviceLimits limits}, lets calls and work requests {@linkplain #inject fail}, and has
 * asynchronous events {@linkplain #raise(Device, AsyncEventType) raised}.
 */
public final class EmbeddedFabric implements AutoCloseable {

    /** 198.18.0.0, of the network for tests of network devices (RFC 2544). */
    private static final int NETWORK = 198 << 24 | 18 << 16;
    private static final int LARGEST_MTU = 4096;
    private static final Set<AsyncEventType> DEVICE_EVENTS = EnumSet.of(
            AsyncEventType.DEVICE_FATAL,
            AsyncEventType.PORT_ACTIVE,
            AsyncEventType.PORT_ERR,
            AsyncEventType.LID_CHANGE,
            AsyncEventType.PKEY_CHANGE,
            AsyncEventType.SM_CHANGE,
            AsyncEventType.CLIENT_REREGISTER,
            AsyncEventType.GID_CHANGE);
    private static final Set<AsyncEventType> QUEUE_PAIR_EVENTS = EnumSet.of(
            AsyncEventType.QP_FATAL,
            AsyncEventType.QP_REQ_ERR,
            AsyncEventType.QP_ACCESS_ERR,
            AsyncEventType.COMM_EST,
            AsyncEventType.SQ_DRAINED,
            AsyncEventType.PATH_MIG,
            AsyncEventType.PATH_MIG_ERR,
            AsyncEventType.QP_LAST_WQE_REACHED);

    private final Engine engine;
    private final InProcessNetwork network;
    private final Random random;
    private final @Nullable VirtualClock clock;
    private final List<EmbeddedDevice> embedded = new ArrayList<>();
    private final List<Device> devices = new ArrayList<>();
    private final EmbeddedProvider provider = EmbeddedProvider.of(this::embedded, this::connectionManager);
    private final EmbeddedConnectionManager connectionManager;
    private final MisuseLog misuses = new MisuseLog(MisuseLog::warn);
    private @Nullable Watch watch;
    private @Nullable PacketCapture capture;
    private @Nullable InjectedFailures failures;

    private EmbeddedFabric(boolean virtual, Random random) {
        this.engine = new Engine(virtual);
        this.random = random;
        this.network = new InProcessNetwork(engine, random);
        this.connectionManager = new EmbeddedConnectionManager(engine, random);
        this.clock = virtual ? new VirtualClock(engine) : null;
    }

    /** A fabric with a virtual clock. */
    public static EmbeddedFabric virtual(long seed) {
        return new EmbeddedFabric(true, new Random(seed));
    }

    /** A fabric that lives in real time. */
    public static EmbeddedFabric realTime(long seed) {
        return new EmbeddedFabric(false, new Random(seed));
    }

    /** In real time, and what is random nobody can guess. */
    static EmbeddedFabric unpredictable(Random random) {
        return new EmbeddedFabric(false, random);
    }

    /**
     * Adds a device of {@link Semantics#STRICT}, called {@code embedded0}, {@code embedded1} and so on; its IPv4
     * addresses are 198.18.0.1 and following.
     */
    public Device addDevice() {
        return addDevice(Semantics.STRICT);
    }

    /** Adds a device as {@link #addDevice()} does, as strict as is said. */
    public Device addDevice(Semantics semantics) {
        return addDevice(semantics, DeviceLimits.DEFAULTS);
    }

    /** Adds a device as {@link #addDevice()} does, with limits of its own. */
    public Device addDevice(DeviceLimits limits) {
        return addDevice(Semantics.STRICT, limits);
    }

    /** Adds a device as {@link #addDevice()} does, as strict as is said and with limits of its own. */
    public synchronized Device addDevice(Semantics semantics, DeviceLimits limits) {
        Objects.requireNonNull(limits, "limits");
        add("embedded" + devices.size(), Objects.requireNonNull(semantics, "semantics"), limits);
        return devices.getLast();
    }

    synchronized EmbeddedDevice add(String name, Semantics semantics, DeviceLimits limits) {
        int number = devices.size() + 1;
        long guid = 0x0200_00ff_fe00_0000L | number;
        long v4 = 0xffffL << 32 | Integer.toUnsignedLong(NETWORK + number);
        var gids = new Gids(0xfe80L << 48, guid, 0, v4);
        var hca = new Hca(name, guid, engine, gids, LARGEST_MTU, new Random(random.nextLong()), semantics, limits);
        if (watch != null) {
            hca.watch(watch);
        }
        hca.tellOfFreed(misuses::add);
        if (failures != null) {
            hca.fail(failures);
        }
        network.add(hca);
        var device = new EmbeddedDevice(hca);
        embedded.add(device);
        devices.add(Device.of(provider, device));
        connectionManager.add(hca);
        return device;
    }

    Engine engine() {
        return engine;
    }

    private synchronized List<VerbsDevice> embedded() {
        return List.copyOf(embedded);
    }

    /** The provider of the devices that were added, with a connection manager that joins them: it knows no others. */
    public VerbsProvider provider() {
        return provider;
    }

    /** Knows devices that are in reach of this fabric's by some other way, too, if it is told of them. */
    EmbeddedConnectionManager connectionManager() {
        return connectionManager;
    }

    /** The devices that were added, in that order. */
    public synchronized List<Device> devices() {
        return List.copyOf(devices);
    }

    /**
     * The clock.
     *
     * @throws IllegalStateException if this fabric lives in real time
     */
    public VirtualClock clock() {
        if (clock == null) {
            throw new IllegalStateException("this fabric lives in real time: only EmbeddedFabric.virtual(seed) has a "
                    + "clock to be moved");
        }
        return clock;
    }

    /** Sets what goes wrong on every way, from now on. */
    public void setFaults(Faults faults) {
        Objects.requireNonNull(faults, "faults");
        locked(() -> network.setFaults(faults));
    }

    /**
     * Sets what goes wrong on the way from one device to another, from now on; the way back is another.
     *
     * @throws IllegalArgumentException if one of them is not of this fabric
     */
    public void setFaults(Device from, Device to, Faults faults) {
        Objects.requireNonNull(faults, "faults");
        Hca source = hca(from);
        Hca target = hca(to);
        locked(() -> network.setFaults(source, target, faults));
    }

    /** Lets nothing through between two devices, in both directions, until {@link #heal}. */
    public void partition(Device one, Device other) {
        setFaults(one, other, Faults.NONE.loss(1));
        setFaults(other, one, Faults.NONE.loss(1));
    }

    /** Lets everything through again between two devices: both ways are without faults then. */
    public void heal(Device one, Device other) {
        setFaults(one, other, Faults.NONE);
        setFaults(other, one, Faults.NONE);
    }

    /**
     * {@linkplain #diagnose(Consumer) Turns the diagnostics on}, and logs what they find as a warning of the
     * {@link System.Logger} named {@code org.kverbs.embedded}.
     */
    public void diagnose() {
        diagnose(MisuseLog::warn);
    }

    /**
     * Turns the diagnostics on, for all that is posted from now on and for good: they find what a card would do wrong
     * in silence ({@link BufferMisuse}). They change what a program sees only where it must not look. Memory of a
     * posted receive, and what a read or an atomic is to bring, is full of {@link BufferMisuse#POISON} until the
     * completion is polled (for an unsignaled request: a later one of the same send queue), and so is what has arrived
     * in it already; then it has what came and, elsewhere, what it was before.
     *
     * <p>They keep a copy of all posted memory on the Java heap, and every post and poll takes the longer for it. They
     * are blind for: a program that writes exactly the poison, or to a source what is there already; entries of more
     * than 256 MiB; requests that overlap others once this was said, and memory that a peer reads or writes on its own
     * while it is posted, from then on; a peer's writes and atomics otherwise, which have no completion here. Memory
     * that another thread frees while the device copies it may end the JVM, as it may without the diagnostics.
     *
     * @param listener called at once by the thread that polls, posts or closes, with the lock of all devices held: it
     *     must be quick and wait for nobody. What it throws is logged
     * @throws IllegalStateException if they are on
     */
    public synchronized void diagnose(Consumer<? super BufferMisuse> listener) {
        if (watch != null) {
            throw new IllegalStateException("the diagnostics of this fabric are on; turn them on once, before it is "
                    + "used");
        }
        misuses.tell(Objects.requireNonNull(listener, "listener"));
        Watch diagnostics = new Watch(misuses::add);
        watch = diagnostics;
        locked(() -> embedded.forEach(each -> each.hca().watch(diagnostics)));
    }

    /**
     * The first 1000 misuses that the diagnostics found, in their order; if they are off those of {@link
     * BufferMisuse.Kind#MEMORY_FREED}, which are found without them.
     */
    public List<BufferMisuse> misuses() {
        return misuses.found();
    }

    /**
     * Has a call or a work request fail on whatever device of this fabric makes it, those that are added later too. If
     * several failures are injected for one operation each counts for itself.
     *
     * @return says how often it happened; closing it ends it
     */
    public Injection inject(Failure failure) {
        return inject((Hca) null, failure);
    }

    /**
     * Has a call or a work request fail on one device.
     *
     * @return says how often it happened; closing it ends it
     * @throws IllegalArgumentException if the device is not of this fabric
     */
    public Injection inject(Device device, Failure failure) {
        return inject(hca(device), failure);
    }

    private synchronized Injection inject(@Nullable Hca device, Failure failure) {
        var injection = new Injection(Objects.requireNonNull(failure, "failure"));
        InjectedFailures all = failures == null ? new InjectedFailures() : failures;
        failures = all;
        locked(() -> {
            all.add(device, injection);
            embedded.forEach(each -> each.hca().fail(all));
        });
        return injection;
    }

    /**
     * Raises an asynchronous event of a device or its port in all its open contexts, as hardware would. With
     * DEVICE_FATAL the device breaks for ever: its queue pairs go to the error state and flush, its peers hear nothing
     * of it, and calls are refused with EIO, but those that close, poll and post.
     *
     * @param type DEVICE_FATAL, or an event of the port that changes nothing here, such as PORT_ERR, LID_CHANGE or
     *     GID_CHANGE
     * @throws IllegalArgumentException if the device is not of this fabric, or the event is of another kind of source
     */
    public void raise(Device device, AsyncEventType type) {
        Hca source = hca(device);
        require(type, DEVICE_EVENTS, "a device");
        locked(() -> {
            if (type == AsyncEventType.DEVICE_FATAL) {
                network.remove(source);
            }
            source.raise(type.code());
        });
    }

    /**
     * Raises an asynchronous event of a queue pair. QP_FATAL, QP_REQ_ERR and QP_ACCESS_ERR take it to the error state,
     * as on hardware.
     *
     * @param type an event whose source is a queue pair, such as QP_FATAL, COMM_EST or PATH_MIG_ERR
     * @throws IllegalArgumentException if the queue pair is not of this fabric or closed, or the event is of another
     *     kind of source
     */
    public void raise(QueuePair queuePair, AsyncEventType type) {
        Hca source = hca(queuePair.protectionDomain().context().device());
        require(type, QUEUE_PAIR_EVENTS, "a queue pair");
        locked(() -> {
            if (!source.raise(queuePair.number(), type.code())) {
                throw new IllegalArgumentException(queuePair.describe() + " is closed");
            }
        });
    }

    private static void require(AsyncEventType type, Set<AsyncEventType> possible, String source) {
        if (!possible.contains(type)) {
            throw new IllegalArgumentException(type + " is no event of " + source + "; those are " + possible);
        }
    }

    /** Pulls a device's cable: it raises PORT_ERR, and its packets are lost. */
    public void linkDown(Device device) {
        setUp(device, false);
    }

    /** Plugs a device's cable in again: it raises PORT_ACTIVE. */
    public void linkUp(Device device) {
        setUp(device, true);
    }

    /** Lets a device die for its peers: it says nothing any more, for ever, and notices nothing itself. */
    public void kill(Device device) {
        Hca dead = hca(device);
        locked(() -> network.remove(dead));
    }

    /**
     * Writes the packets that arrive at the devices from now on to a pcap file, for Wireshark, tshark and others, until
     * the capture or the fabric is closed. Each stands there as on a wire, from its IP header on and with its ICRC:
     * RoCEv2 over IPv4 or IPv6, by its GIDs. A packet that a fault loses is absent, a repeated one is there twice, a
     * damaged one has a wrong ICRC, and a packet to a group is there once for each device. The time is that of the
     * {@linkplain #clock virtual clock}, from 0 on, or the real one.
     *
     * <p>Without faults messages otherwise go from memory to memory whole. While a capture is on they go in packets of
     * the path MTU, with the acknowledgements that these need, and so more slowly.
     *
     * <pre>{@code
     * try (PacketCapture capture = fabric.capture(Path.of("echo.pcap"))) {
     *     ...
     * }
     * }</pre>
     *
     * @param file made anew; what was in it is gone
     * @throws java.io.UncheckedIOException if the file can't be written
     * @throws IllegalStateException if a capture is on
     */
    public synchronized PacketCapture capture(Path file) {
        Objects.requireNonNull(file, "file");
        if (capture != null && !capture.isClosed()) {
            throw new IllegalStateException("a capture of this fabric is on: close it before another begins");
        }
        capture = new PacketCapture(file, engine, network);
        return capture;
    }

    /** How many packets were lost, duplicated, overtaken or damaged so far. */
    public long faultsInjected() {
        engine.enter();
        try {
            return network.faultsInjected();
        } finally {
            engine.leave();
        }
    }

    private void setUp(Device device, boolean up) {
        Hca changed = hca(device);
        locked(() -> changed.setUp(up));
    }

    private synchronized Hca hca(Device device) {
        int index = devices.indexOf(device);
        if (index < 0) {
            throw new IllegalArgumentException(device.name() + " is not a device of this fabric");
        }
        return embedded.get(index).hca();
    }

    private void locked(Runnable action) {
        engine.enter();
        try {
            action.run();
        } finally {
            engine.leave();
        }
    }

    /**
     * Ends the fabric's own thread, if it has one, and its {@link #capture}. Contexts that are open are their owners'
     * to close.
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
