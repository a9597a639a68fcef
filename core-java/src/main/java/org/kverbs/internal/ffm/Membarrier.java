package org.kverbs.internal.ffm;

import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The process-wide fence of Linux ({@code man 2 membarrier}, MEMBARRIER_CMD_PRIVATE_EXPEDITED, since Linux 4.14). A
 * kernel that lacks it, and a filter of system calls that refuses it, leave a process without one.
 */
final class Membarrier {

    private static final int PRIVATE_EXPEDITED = 1 << 3;
    private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

    private Membarrier() {}

    /** Registers the process for the fence and returns it; null if native access is not enabled, or there is none. */
    static @Nullable Runnable fence() {
        long number = number();
        if (number < 0 || !Membarrier.class.getModule().isNativeAccessEnabled()) {
            return null;
        }
        Optional<MemorySegment> found = Linker.nativeLinker().defaultLookup().find("syscall");
        if (found.isEmpty()) {
            return null;
        }
        MemorySegment syscall = found.get();
        boolean isRegistered = Downcalls.call(syscall, number, REGISTER_PRIVATE_EXPEDITED, 0) == 0;
        return isRegistered ? () -> run(syscall, number) : null;
    }

    private static void run(MemorySegment syscall, long number) {
        if (Downcalls.call(syscall, number, PRIVATE_EXPEDITED, 0) != 0) {
            throw new IllegalStateException("the kernel refused membarrier after it had registered the process for"
                    + " it: a filter of system calls that was set meanwhile must permit membarrier");
        }
    }

    /** Returns the number of the system call, or -1 for a system or processor whose number is not known here. */
    private static long number() {
        if (!System.getProperty("os.name").equals("Linux")) {
            return -1;
        }
        return switch (System.getProperty("os.arch")) {
            case "amd64" -> 324;
            case "aarch64", "riscv64" -> 283;
            default -> -1;
        };
    }
}
