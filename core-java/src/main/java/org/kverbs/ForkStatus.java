package org.kverbs;

import org.kverbs.internal.Providers;
import org.kverbs.internal.abi.IbvForkStatus;
import org.kverbs.spi.VerbsProvider;

/**
 * The state of the protection of registered memory against fork(): {@code enum ibv_fork_status}. It matters only for
 * devices of the operating system and for native code that calls fork() in the process of the JVM. {@link
 * ProcessBuilder} starts programs without copying the memory of the JVM, so it needs no protection.
 */
public enum ForkStatus {
    /**
     * {@code IBV_FORK_DISABLED}: after a fork the parent can get a copy of a registered page while the device keeps
     * using the old page.
     */
    DISABLED(IbvForkStatus.IBV_FORK_DISABLED),
    /** {@code IBV_FORK_ENABLED}: libibverbs hides registered pages from the child, which must not access them. */
    ENABLED(IbvForkStatus.IBV_FORK_ENABLED),
    /**
     * {@code IBV_FORK_UNNEEDED}: the kernel copies registered pages for the child during the fork, so libibverbs need
     * not protect them.
     */
    UNNEEDED(IbvForkStatus.IBV_FORK_UNNEEDED),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final ForkStatus[] ALL = values();

    private final int code;

    ForkStatus(int code) {
        this.code = code;
    }

    /**
     * Returns the state of this process ({@code ibv_is_fork_initialized}). If it is {@link #DISABLED}, call {@link
     * #protectThisProcess}, or set the environment variable RDMAV_FORK_SAFE before the program starts.
     *
     * @throws LibraryUnavailableException if libibverbs is missing or older than rdma-core 35
     */
    public static ForkStatus ofThisProcess() {
        return Providers.nativeFirst().stream()
                .filter(VerbsProvider::isNative)
                .findFirst()
                .map(provider -> of(provider.forkStatus()))
                .orElse(UNNEEDED);
    }

    /**
     * Protects registered memory against fork() from now on ({@code ibv_fork_init}). Call it before memory is
     * registered, best before the first {@link Device#list}. It does nothing if the kernel needs no protection.
     *
     * @throws RdmaSystemException EINVAL if memory was registered before; ENOSYS if the kernel cannot protect it
     * @throws LibraryUnavailableException if libibverbs is missing
     */
    public static void protectThisProcess() {
        for (VerbsProvider provider : Providers.nativeFirst()) {
            SystemErrors.check("ibv_fork_init()", provider.protectFork());
        }
    }

    /** Returns the number that {@code enum ibv_fork_status} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static ForkStatus of(int code) {
        for (ForkStatus each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
