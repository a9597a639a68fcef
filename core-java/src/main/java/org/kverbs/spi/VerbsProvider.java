package org.kverbs.spi;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A source of RDMA devices. Found by {@link java.util.ServiceLoader}; the one for libibverbs is built in.
 */
public interface VerbsProvider {

    /** Short name: {@code "native"} for libibverbs. */
    String name();

    /**
     * Whether its devices come from the operating system; such devices are preferred when none is asked for by name.
     */
    boolean isNative();

    /**
     * The devices there are now, in the provider's order ({@code ibv_get_device_list}).
     *
     * @throws org.kverbs.LibraryUnavailableException if the provider can't work on this machine, with the reason
     * @throws org.kverbs.RdmaSystemException if listing failed
     */
    List<VerbsDevice> devices();

    /**
     * Its connection manager, or null if it has none.
     *
     * @throws org.kverbs.LibraryUnavailableException if it can't work on this machine, with the reason
     */
    default @Nullable ConnectionManager connectionManager() {
        return null;
    }

    /**
     * Whether registered memory stays right when this process forks: {@code enum ibv_fork_status}, which a provider in
     * Java leaves at {@code IBV_FORK_UNNEEDED}.
     *
     * @throws org.kverbs.LibraryUnavailableException if it can't work on this machine, with the reason
     */
    default int forkStatus() {
        return 2;
    }
}
