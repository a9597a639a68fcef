package org.kverbs.spi;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A source of RDMA devices. {@link java.util.ServiceLoader} finds providers; the provider of libibverbs is built in.
 */
public interface VerbsProvider {

    /** Returns a short name: {@code "native"} for libibverbs. */
    String name();

    /**
     * Returns whether the devices come from the operating system. A program that names no device gets such a device
     * first.
     */
    boolean isNative();

    /**
     * Lists the devices that exist now, in the provider's order ({@code ibv_get_device_list}).
     *
     * @throws org.kverbs.LibraryUnavailableException if the provider cannot work on this machine; the message has the
     *     reason
     * @throws org.kverbs.RdmaSystemException if the listing failed
     */
    List<VerbsDevice> devices();

    /**
     * Returns the connection manager of the provider, or null if it has none.
     *
     * @throws org.kverbs.LibraryUnavailableException if the connection manager cannot work on this machine; the message
     *     has the reason
     */
    default @Nullable ConnectionManager connectionManager() {
        return null;
    }

    /**
     * Returns the ports of the provider that take management datagrams, or null if it has none.
     *
     * @throws org.kverbs.LibraryUnavailableException if they cannot work on this machine; the message has the reason
     */
    default @Nullable ManagementPorts managementPorts() {
        return null;
    }

    /**
     * Loads the library of a driver for the devices of libibverbs, or returns null if this provider is another.
     *
     * @param file the file name of the library ({@code libmlx5.so.1}), or its path
     * @throws org.kverbs.LibraryUnavailableException if it cannot be loaded; the message has the reason
     */
    default @Nullable DriverLibrary driverLibrary(String file) {
        return null;
    }

    /**
     * Returns the state of the protection of registered memory against fork(), an {@code enum ibv_fork_status}. A
     * provider in Java returns {@code IBV_FORK_UNNEEDED}.
     *
     * @throws org.kverbs.LibraryUnavailableException if it can't work on this machine, with the reason
     */
    default int forkStatus() {
        return 2;
    }

    /**
     * Protects registered memory against fork() from now on ({@code ibv_fork_init}). A provider in Java does nothing.
     *
     * @return 0 or -errno: EINVAL if memory was registered before
     * @throws org.kverbs.LibraryUnavailableException if it can't work on this machine, with the reason
     */
    default int protectFork() {
        return 0;
    }
}
