package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.kverbs.internal.memory.Memory;

/**
 * The drivers of rdma-core whose posts and polls stay in user space: they write to and read from mapped memory, and
 * make no system call in any case. Only such a call may be a critical one, for which no thread can stop at a safepoint
 * meanwhile.
 *
 * <p>By rdma-core 65's sources these are not among them: hfi1verbs, ipathverbs, rxe and siw post by system call;
 * bnxt_re polls by one while a queue is resized, and waits in a post when the doorbells are busy; cxgb4 may ring the
 * doorbell by one; hns and irdma post to a queue pair in error, hns polls a failure, by one.
 */
final class UserSpaceDrivers {

    private static final Set<String> NAMES =
            Set.of("efa", "erdma", "ionic", "mana", "mlx4", "mlx5", "mthca", "ocrdma", "qedr", "vmw_pvrdma");

    /** {@code int dladdr(const void *, Dl_info *)}. */
    private static final MemorySegment DLADDR = Linker.nativeLinker().defaultLookup().findOrThrow("dladdr");

    private static final long DL_INFO_SIZE = 4 * ADDRESS.byteSize();

    private UserSpaceDrivers() {}

    /** Whether a function belongs to one of them: decided by the file name of the library that the function is in. */
    static boolean have(MemorySegment function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(DL_INFO_SIZE, ADDRESS.byteAlignment());
            boolean isFound = (int) Downcalls.call(DLADDR, function.address(), info.address()) != 0;
            long path = info.get(JAVA_LONG, 0); // dli_fname
            return isFound && path != 0 && NAMES.contains(driver(Memory.at(path, Integer.MAX_VALUE).getString(0)));
        }
    }

    /** The driver's name in a library's path: mlx5 of .../libibverbs/libmlx5-rdmav34.so and of .../libmlx5.so.1. */
    static String driver(String path) {
        String file = path.substring(path.lastIndexOf('/') + 1);
        return file.replaceFirst("^lib", "").replaceFirst("[-.].*", "");
    }
}
