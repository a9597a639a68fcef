package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.kverbs.internal.memory.Memory;

/**
 * The drivers of rdma-core whose posts and polls stay in user space: they read and write mapped memory and never make a
 * system call. Only the calls of such a driver may be critical calls, during which no thread can stop at a safepoint.
 *
 * <p>By the sources of rdma-core 65 these drivers do make system calls: hfi1verbs, ipathverbs, rxe and siw in every
 * post; bnxt_re in a poll while a queue is resized (and it waits in a post while the doorbells are busy); cxgb4
 * sometimes to ring the doorbell; hns and irdma in a post to a queue pair in error, and hns in the poll of a failure.
 */
final class UserSpaceDrivers {

    private static final Set<String> NAMES =
            Set.of("efa", "erdma", "ionic", "mana", "mlx4", "mlx5", "mthca", "ocrdma", "qedr", "vmw_pvrdma");

    /** {@code int dladdr(const void *, Dl_info *)}. */
    private static final MemorySegment DLADDR = Linker.nativeLinker().defaultLookup().findOrThrow("dladdr");

    private static final long DL_INFO_SIZE = 4 * ADDRESS.byteSize();

    private UserSpaceDrivers() {}

    /**
     * Returns whether a function belongs to one of these drivers, by the file name of the library that has the
     * function.
     */
    static boolean have(MemorySegment function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(DL_INFO_SIZE, ADDRESS.byteAlignment());
            boolean isFound = (int) Downcalls.call(DLADDR, function.address(), info.address()) != 0;
            long path = info.get(JAVA_LONG, 0); // dli_fname
            return isFound && path != 0 && NAMES.contains(driver(Memory.at(path, Integer.MAX_VALUE).getString(0)));
        }
    }

    /**
     * Returns the name of the driver in the path of a library: mlx5 for .../libibverbs/libmlx5-rdmav34.so and for
     * .../libmlx5.so.1.
     */
    static String driver(String path) {
        String file = path.substring(path.lastIndexOf('/') + 1);
        return file.replaceFirst("^lib", "").replaceFirst("[-.].*", "");
    }
}
