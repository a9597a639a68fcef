package org.kverbs.embedded;

import java.util.List;
import java.util.function.Supplier;
import org.kverbs.spi.ConnectionManager;
import org.kverbs.spi.VerbsDevice;
import org.kverbs.spi.VerbsProvider;

/**
 * The provider of the embedded devices, {@code embedded0}, {@code embedded1} and so on. They are there on every machine, and come after the
 * hardware's where no device is asked for by name.
 *
 * <p>The system property {@code kverbs.embedded}, or else the environment's {@code KVERBS_EMBEDDED}, says which, one word for each, separated
 * by commas, or {@code none} for none at all. Without it there are two of the first kind.
 * <ul>
 *   <li>{@code memory}: joined to the others of this kind in this JVM;
 *   <li>{@code udp:ADDRESS}: RoCEv2 on UDP port 4791 of an IPv4 or IPv6 address of this machine, for other processes and hosts;
 *   <li>{@code udp}: the same on the first address from 127.0.0.1 on whose port is free, for processes of this machine.
 * </ul>
 *
 * <p>With the system property {@code kverbs.embedded.diagnostics}, or else the environment's {@code KVERBS_EMBEDDED_DIAGNOSTICS}, set to
 * {@code true} they report what a card would do wrong in silence ({@link EmbeddedFabric#diagnose(java.util.function.Consumer)}): each is a
 * warning of the {@link System.Logger} named {@code org.kverbs.embedded}, and {@link #misuses} has the first of them.
 */
public final class EmbeddedProvider implements VerbsProvider {

    private final Supplier<List<VerbsDevice>> devices;
    private final Supplier<ConnectionManager> connectionManager;

    /** For {@link java.util.ServiceLoader}. */
    public EmbeddedProvider() {
        this(() -> Configured.CONFIGURATION.devices(), () -> Configured.CONFIGURATION.connectionManager());
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

    @Override
    public List<VerbsDevice> devices() {
        return devices.get();
    }

    /** That of all its devices. Its ids find each other in this JVM, and other processes and hosts by the UDP devices. */
    @Override
    public ConnectionManager connectionManager() {
        return connectionManager.get();
    }

    /**
     * The first 1000 misuses that the diagnostics of these devices found, in their order; none if they are off. Devices of an
     * {@link EmbeddedFabric} have their own.
     */
    public static List<BufferMisuse> misuses() {
        return Configured.CONFIGURATION.misuses();
    }

    /** Made when it is first asked for. */
    private static final class Configured {
        static final Configuration CONFIGURATION = Configuration.read();
    }
}
