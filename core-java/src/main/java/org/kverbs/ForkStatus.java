package org.kverbs;

import org.kverbs.internal.Providers;
import org.kverbs.internal.abi.IbvForkStatus;
import org.kverbs.spi.VerbsProvider;

/**
 * Whether registered memory stays right when the process forks: {@code enum ibv_fork_status}. It concerns devices of
 * the operating system only, and native code that calls fork() in the JVM's process: {@link ProcessBuilder} starts
 * programs without copying the JVM's memory.
 */
public enum ForkStatus {
    /**
     * {@code IBV_FORK_DISABLED}: after a fork the parent's registered pages may be copied away from under the device.
     */
    DISABLED(IbvForkStatus.IBV_FORK_DISABLED),
    /** {@code IBV_FORK_ENABLED}: libibverbs keeps registered pages from the child, which must not touch them. */
    ENABLED(IbvForkStatus.IBV_FORK_ENABLED),
    /**
     * {@code IBV_FORK_UNNEEDED}: the kernel copies such pages for the child at once, so that nothing has to be done.
     */
    UNNEEDED(IbvForkStatus.IBV_FORK_UNNEEDED),
    /** No C constant: a value that this release of kverbs has no name for. */
    UNKNOWN(-1);

    private static final ForkStatus[] ALL = values();

    private final int code;

    ForkStatus(int code) {
        this.code = code;
    }

    /**
     * The state of this process ({@code ibv_is_fork_initialized}). To change it from {@link #DISABLED}, set the
     * environment variable RDMAV_FORK_SAFE before the start ({@code man 3 ibv_fork_init}).
     *
     * @throws LibraryUnavailableException if there is no libibverbs, or one older than rdma-core 35
     */
    public static ForkStatus ofThisProcess() {
        return Providers.nativeFirst().stream()
                .filter(VerbsProvider::isNative)
                .findFirst()
                .map(provider -> of(provider.forkStatus()))
                .orElse(UNNEEDED);
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
