package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import java.util.Set;

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

    private UserSpaceDrivers() {}

    /**
     * Returns whether a function belongs to one of these drivers, by the file name of the library that has the
     * function.
     */
    static boolean have(MemorySegment function) {
        return NAMES.contains(driver(SharedObject.of(function)));
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
