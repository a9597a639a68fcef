package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import org.kverbs.internal.abi.Errno;

/**
 * The handles of all native calls: constant, taking the function's address first, so that one handle serves the
 * function pointers of every driver and the JIT can inline the call.
 *
 * <p>Integer arguments of every width are passed as {@code long}: the first six travel in registers of 64 bits on
 * x86_64 and aarch64, and the callee reads the low bits that its prototype names. No function bound here has more.
 */
final class Downcalls {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final long ERRNO_OFFSET =
            CAPTURED.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    /** Where a call leaves errno; one for each thread, since errno is one for each thread. */
    private static final ThreadLocal<MemorySegment> STATE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(CAPTURED));

    private static final MethodHandle CALL_0 = capturing(0);
    private static final MethodHandle CALL_1 = capturing(1);
    private static final MethodHandle CALL_2 = capturing(2);
    private static final MethodHandle CALL_3 = capturing(3);
    private static final MethodHandle CALL_4 = capturing(4);
    private static final MethodHandle CALL_5 = capturing(5);
    private static final MethodHandle CALL_6 = capturing(6);
    private static final MethodHandle VARIADIC_3 = LINKER.downcallHandle(
            longs(3), Linker.Option.captureCallState("errno"), Linker.Option.firstVariadicArg(2));

    /** {@code int post(void *queue, void *wr, void **bad_wr)} of a driver that may make a system call. */
    private static final MethodHandle POST =
            LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    /** The same for a driver that only writes to mapped memory: no thread state transition, about 5 ns less. */
    private static final MethodHandle POST_SHORT = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG), Linker.Option.critical(false));
    /** {@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)}: reads mapped memory in every driver. */
    private static final MethodHandle POLL = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));

    private Downcalls() {}

    private static FunctionDescriptor longs(int count) {
        var arguments = new MemoryLayout[count];
        Arrays.fill(arguments, JAVA_LONG);
        return FunctionDescriptor.of(JAVA_LONG, arguments);
    }

    private static MethodHandle capturing(int count) {
        return LINKER.downcallHandle(longs(count), Linker.Option.captureCallState("errno"));
    }

    /** errno as this thread's last call here left it, which failed; EIO if that didn't say why, as with some drivers. */
    static int errno() {
        int errno = STATE.get().get(JAVA_INT, ERRNO_OFFSET);
        return errno == 0 ? Errno.EIO : errno;
    }

    /** What a function returned that gives a pointer, or NULL with errno. */
    static long pointer(long result) {
        return result == 0 ? -errno() : result;
    }

    /**
     * What a function returned that gives 0, a positive errno, or -1 with errno. Some drivers answer with a negative errno, and some
     * functions that promise -1 pass on what the driver or the kernel said and leave errno unset.
     */
    static int status(long result) {
        int code = (int) result;
        if (code == -1) {
            return -errno();
        }
        return code > 0 ? -code : code;
    }

    static long call(MemorySegment function) {
        try {
            return (long) CALL_0.invokeExact(function, STATE.get());
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static long call(MemorySegment function, long a) {
        try {
            return (long) CALL_1.invokeExact(function, STATE.get(), a);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static long call(MemorySegment function, long a, long b) {
        try {
            return (long) CALL_2.invokeExact(function, STATE.get(), a, b);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static long call(MemorySegment function, long a, long b, long c) {
        try {
            return (long) CALL_3.invokeExact(function, STATE.get(), a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d) {
        try {
            return (long) CALL_4.invokeExact(function, STATE.get(), a, b, c, d);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d, long e) {
        try {
            return (long) CALL_5.invokeExact(function, STATE.get(), a, b, c, d, e);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) CALL_6.invokeExact(function, STATE.get(), a, b, c, d, e, f);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /** A call with two fixed arguments and one variadic one, such as fcntl(fd, F_SETFL, flags). */
    static long callVariadic(MemorySegment function, long a, long b, long c) {
        try {
            return (long) VARIADIC_3.invokeExact(function, STATE.get(), a, b, c);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int post(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) POST.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int postShort(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) POST_SHORT.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    static int poll(MemorySegment function, long cq, int count, long completions) {
        try {
            return (int) POLL.invokeExact(function, cq, count, completions);
        } catch (Throwable e) {
            throw impossible(e);
        }
    }

    /** Downcalls throw nothing of their own; a linkage mistake or a VM error is passed on as it is. */
    private static RuntimeException impossible(Throwable e) {
        if (e instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (e instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(e);
    }
}
