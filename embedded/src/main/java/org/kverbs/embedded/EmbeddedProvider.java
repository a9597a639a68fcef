package org.kverbs.embedded;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.spi.ConnectionManager;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * The provider of the embedded devices, {@code embedded0}, {@code embedded1} and so on. They are there on every
 * machine, and come after the hardware's where no device is asked for by name.
 *
 * <p>The system property {@code kverbs.embedded}, or else the environment's {@code KVERBS_EMBEDDED}, says which, one
 * word for each, separated by commas, or {@code none} for none at all. Without it there are two of the first kind.
 * <ul>
 *   <li>{@code memory}: joined to the others of this kind in this JVM;
 *   <li>{@code udp:ADDRESS}: RoCEv2 on UDP port 4791 of an IPv4 or IPv6 address of this machine, for other processes
 *       and hosts;
 *   <li>{@code udp}: the same on the first address from 127.0.0.1 on whose port is free, for processes of this machine.
 * </ul>
 *
 * <p>The system property {@code kverbs.embedded.semantics}, or else the environment's {@code
 * KVERBS_EMBEDDED_SEMANTICS}, says how strict they are: {@code strict}, the default, or {@code rxe} ({@link
 * Semantics}).
 *
 * <p>With the system property {@code kverbs.embedded.diagnostics}, or else the environment's
 * {@code KVERBS_EMBEDDED_DIAGNOSTICS}, set to {@code true} they report what a card would do wrong in silence
 * ({@link EmbeddedFabric#diagnose(java.util.function.Consumer)}): each is a warning of the {@link System.Logger} named
 * {@code org.kverbs.embedded}, and {@link #misuses} has the first of them.
 *
 * <p>A connection that another process or host asks for is half open until its peer confirms the answer. A listener on
 * a UDP device has at most 256 half-open connections that wait for the program, and 256 that wait for the peer, a
 * quarter of them for one address. The device does not answer a request beyond that, so that an honest peer asks again;
 * a program's answer beyond that ends the oldest one of the address that has the most, as {@code UNREACHABLE}. A peer
 * that has confirmed nothing gets six datagrams at most, a second apart. The system property
 * {@code kverbs.embedded.halfOpen}, or else the environment's {@code KVERBS_EMBEDDED_HALF_OPEN}, sets another number
 * than 256.
 */
public final class EmbeddedProvider implements VerbsProvider {

    private final Supplier<List<VerbsDevice>> devices;
    private final Supplier<ConnectionManager> connectionManager;

    /** What is asked for where nobody says otherwise, made when it is first needed. */
    private static @Nullable Configuration configured;

    /** The provider of the devices that the configuration asks for; for {@link java.util.ServiceLoader}. */
    public EmbeddedProvider() {
        this(() -> configured().devices(), () -> configured().connectionManager());
    }

    /**
     * A provider of devices of its own, whatever the configuration says; they are joined to no other provider's in
     * memory. Its names begin at {@code embedded0}, too. {@link org.kverbs.Device#of} makes devices of them:
     *
     * <pre>{@code
     * var provider = new EmbeddedProvider("udp:10.0.0.2");
     * Device device = Device.of(provider, provider.devices().getFirst());
     * }</pre>
     *
     * @param words which devices, as the configuration has it; how strict they are says the configuration
     * @throws IllegalArgumentException if a word is none of those, or there is no free address for {@code udp}
     */
    public EmbeddedProvider(String words) {
        this(Configuration.of(words));
    }

    private EmbeddedProvider(Configuration own) {
        this(own::devices, own::connectionManager);
    }

    private EmbeddedProvider(Supplier<List<VerbsDevice>> devices, Supplier<ConnectionManager> connectionManager) {
        this.devices = devices;
        this.connectionManager = connectionManager;
    }

    static EmbeddedProvider of(Supplier<List<VerbsDevice>> devices, Supplier<ConnectionManager> connectionManager) {
        return new EmbeddedProvider(devices, connectionManager);
    }

    @Override
    public String name() {
        return "embedded";
    }

    @Override
    public boolean isNative() {
        return false;
    }

    /** @throws org.kverbs.RdmaException if the configuration asks for devices that cannot be */
    @Override
    public List<VerbsDevice> devices() {
        return devices.get();
    }

    /**
     * That of all its devices. Its ids find each other in this JVM, and other processes and hosts by the UDP devices.
     */
    @Override
    public ConnectionManager connectionManager() {
        return connectionManager.get();
    }

    private static synchronized Configuration configured() {
        if (configured == null) {
            configured = Configuration.read();
        }
        return configured;
    }

    /**
     * The first 1000 misuses that the diagnostics of these devices found, in their order, or of {@link
     * BufferMisuse.Kind#MEMORY_FREED} if they are off. Devices of an {@link EmbeddedFabric} have their own.
     */
    public static List<BufferMisuse> misuses() {
        return configured().misuses();
    }
}
