package org.kverbs.embedded;

import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kverbs.spi.ConnectionManager;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * Provides the embedded devices, {@code embedded0}, {@code embedded1} and so on. They exist on every machine. A program
 * that asks for no device by name gets a hardware device first, if there is one.
 *
 * <p>The system property {@code kverbs.embedded}, or else the environment variable {@code KVERBS_EMBEDDED}, lists the
 * devices: one word for each, separated by commas, or {@code none} for no device. The default is {@code memory,memory}.
 * <ul>
 * <li>{@code memory}: joined to the other devices of this kind in this JVM;
 * <li>{@code udp:ADDRESS}: RoCEv2 on UDP port 4791 of an IPv4 or IPv6 address of this machine, for other processes and
 * hosts;
 * <li>{@code udp}: the same on the first address from 127.0.0.1 on whose port is free, for processes of this machine.
 * </ul>
 *
 * <p>The system property {@code kverbs.embedded.semantics}, or else the environment variable {@code
 * KVERBS_EMBEDDED_SEMANTICS}, sets how strict the devices are: {@code strict}, the default, or {@code rxe} ({@link
 * Semantics}).
 *
 * <p>The system property {@code kverbs.embedded.diagnostics}, or else the environment variable {@code
 * KVERBS_EMBEDDED_DIAGNOSTICS}, turns the diagnostics on with {@code true}. The devices then report mistakes that a
 * card does not report ({@link EmbeddedFabric#diagnose(java.util.function.Consumer)}). Each mistake is a warning of the
 * {@link System.Logger} named {@code org.kverbs.embedded}, and {@link #misuses} returns the first ones.
 *
 * <p>On Linux a UDP device uses the system's sockets, which send and take many packets in a call, if the JVM permits
 * native calls. With {@code java} the system property {@code kverbs.embedded.sockets}, or else the environment variable
 * {@code KVERBS_EMBEDDED_SOCKETS}, makes it use those of Java, as on other systems; the default is {@code native}.
 *
 * <p>A connection that another process or host requests is half open until its peer confirms the answer. A listener on
 * a UDP device has at most 256 half-open connections that wait for the program, and 256 that wait for the peer; one
 * address gets at most a quarter of them. The device ignores a request beyond that, so that an honest peer asks again.
 * If the program's answer exceeds the second number, the oldest connection of the address that has the most ends as
 * {@code UNREACHABLE}. A peer that has confirmed nothing gets at most six datagrams, a second apart. The system
 * property {@code kverbs.embedded.halfOpen}, or else the environment variable {@code KVERBS_EMBEDDED_HALF_OPEN},
 * replaces the number 256.
 */
public final class EmbeddedProvider implements VerbsProvider {

    private final Supplier<List<VerbsDevice>> devices;
    private final Supplier<ConnectionManager> connectionManager;

    /** The default configuration, made when it is first needed. */
    private static @Nullable Configuration configured;

    /** Makes the provider of the configured devices; for {@link java.util.ServiceLoader}. */
    public EmbeddedProvider() {
        this(() -> configured().devices(), () -> configured().connectionManager());
    }

    /**
     * Makes a provider with its own devices, independent of the configuration. In memory, its devices reach no other
     * provider's devices. Its names begin at {@code embedded0}, too. {@link org.kverbs.Device#of} turns its devices
     * into {@link org.kverbs.Device} objects:
     *
     * <pre>{@code
     * var provider = new EmbeddedProvider("udp:10.0.0.2");
     * Device device = Device.of(provider, provider.devices().getFirst());
     * }</pre>
     *
     * @param words the devices, in the words of the property {@code kverbs.embedded}; the semantics are the configured
     *     ones
     * @throws IllegalArgumentException if a word is unknown, or if {@code udp} finds no free address
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

    /**
     * Returns the devices.
     *
     * @throws org.kverbs.RdmaException if a property or environment variable has a value that is not valid
     */
    @Override
    public List<VerbsDevice> devices() {
        return devices.get();
    }

    /**
     * Returns the connection manager of all these devices. Its ids reach each other in this JVM, and reach other
     * processes and hosts through the UDP devices.
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
     * Returns the first 1000 misuses of the configured devices, in the order in which they were found. Without
     * diagnostics the list holds only {@link BufferMisuse.Kind#MEMORY_FREED}. Devices of an {@link EmbeddedFabric} have
     * a list of their own.
     */
    public static List<BufferMisuse> misuses() {
        return configured().misuses();
    }
}
