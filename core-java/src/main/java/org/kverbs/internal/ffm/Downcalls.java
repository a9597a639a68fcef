package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * The handles of all native calls: constant, taking the function's address first, so that one handle serves the
 * function pointers of every driver and the JIT can inline the call.
 *
 * <p>Integer arguments of every width are passed as {@code long}: the first six travel in registers of 64 bits on
 * x86_64 and aarch64, and the callee reads the low bits that its prototype names. No function bound here has more.
 *
 * <p>The methods differ in how a function says that it failed: {@link #call} for one whose result says all, {@link
 * #withErrno} and {@link #pointer} for those that leave the reason in errno. The latter set errno to 0 before the call,
 * because a driver may fail and leave errno as an earlier call left it.
 */
final class Downcalls {

    private static final Linker LINKER = Linker.nativeLinker();

    private static final MethodHandle CALL_1 = LINKER.downcallHandle(longs(1));
    private static final MethodHandle CALL_2 = LINKER.downcallHandle(longs(2));
    private static final MethodHandle CALL_3 = LINKER.downcallHandle(longs(3));
    private static final MethodHandle CALL_4 = LINKER.downcallHandle(longs(4));
    private static final MethodHandle CALL_5 = LINKER.downcallHandle(longs(5));
    /** Takes six arguments whatever the function has: those it does not have stay unread in their registers. */
    private static final MethodHandle CAPTURING =
            LINKER.downcallHandle(longs(6), Linker.Option.captureCallState("errno"));
    private static final MethodHandle VARIADIC_3 = LINKER.downcallHandle(
            longs(3), Linker.Option.captureCallState("errno"), Linker.Option.firstVariadicArg(2));

    /** {@code int post(void *queue, void *wr, void **bad_wr)} of a driver that may make a system call. */
    private static final MethodHandle POST =
            LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    /** The same for a driver that only writes to mapped memory: no thread state transition, about 5 ns less. */
    private static final MethodHandle POST_SHORT = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG), Linker.Option.critical(false));
    /** {@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)} of a driver that may make a system call. */
    private static final MethodHandle POLL =
            LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    /** The same for a driver that only reads mapped memory. */
    private static final MethodHandle POLL_SHORT = LINKER.downcallHandle(
            FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));

    private Downcalls() {}

    private static FunctionDescriptor longs(int count) {
        var arguments = new MemoryLayout[count];
        Arrays.fill(arguments, JAVA_LONG);
        return FunctionDescriptor.of(JAVA_LONG, arguments);
    }

    /**
     * What a function said that gives 0, a positive errno, or -1 with errno. Some drivers answer with a negative errno,
     * and some functions that promise -1 pass on what the driver or the kernel said and leave errno unset.
     *
     * @param result of {@link #withErrno}
     */
    static int status(long result) {
        int code = (int) result;
        if (code == -1) {
            return -errno(result);
        }
        return code > 0 ? -code : code;
    }

    /** What a function said that gives a number from 0, or a number below 0 with errno: the number, or -errno. */
    static int number(long result) {
        int code = (int) result;
        return code < 0 ? -errno(result) : code;
    }

    /** The errno that stands beside a function's result. */
    static int errno(long result) {
        return (int) (result >>> Integer.SIZE);
    }

    /** Calls a function that gives an int: its result in the lower 32 bits, errno in the upper. */
    static long withErrno(MemorySegment function, long a) {
        return withErrno(function, a, 0, 0, 0, 0, 0);
    }

    static long withErrno(MemorySegment function, long a, long b) {
        return withErrno(function, a, b, 0, 0, 0, 0);
    }

    static long withErrno(MemorySegment function, long a, long b, long c) {
        return withErrno(function, a, b, c, 0, 0, 0);
    }

    static long withErrno(MemorySegment function, long a, long b, long c, long d) {
        return withErrno(function, a, b, c, d, 0, 0);
    }

    static long withErrno(MemorySegment function, long a, long b, long c, long d, long e) {
        return withErrno(function, a, b, c, d, e, 0);
    }

    static long withErrno(MemorySegment function, long a, long b, long c, long d, long e, long f) {
        ThreadErrno errno = ThreadErrno.cleared();
        try {
            return pair((long) CAPTURING.invokeExact(function, errno.captured(), a, b, c, d, e, f), errno);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /** The same for a function with two fixed arguments and one variadic one, such as fcntl(fd, F_SETFL, flags). */
    static long variadicWithErrno(MemorySegment function, long a, long b, long c) {
        ThreadErrno errno = ThreadErrno.cleared();
        try {
            return pair((long) VARIADIC_3.invokeExact(function, errno.captured(), a, b, c), errno);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    private static long pair(long result, ThreadErrno errno) {
        return (long) errno.value() << Integer.SIZE | result & 0xffff_ffffL;
    }

    /** Calls a function that gives a pointer, or NULL with errno: the pointer, or -errno. */
    static long pointer(MemorySegment function) {
        return pointer(function, 0, 0, 0, 0, 0, 0);
    }

    static long pointer(MemorySegment function, long a) {
        return pointer(function, a, 0, 0, 0, 0, 0);
    }

    static long pointer(MemorySegment function, long a, long b) {
        return pointer(function, a, b, 0, 0, 0, 0);
    }

    static long pointer(MemorySegment function, long a, long b, long c, long d) {
        return pointer(function, a, b, c, d, 0, 0);
    }

    static long pointer(MemorySegment function, long a, long b, long c, long d, long e) {
        return pointer(function, a, b, c, d, e, 0);
    }

    private static long pointer(MemorySegment function, long a, long b, long c, long d, long e, long f) {
        ThreadErrno errno = ThreadErrno.cleared();
        try {
            long pointer = (long) CAPTURING.invokeExact(function, errno.captured(), a, b, c, d, e, f);
            return pointer == 0 ? -errno.value() : pointer;
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /** Calls a function whose result says all; whatever it is, errno means nothing. */
    static long call(MemorySegment function, long a) {
        try {
            return (long) CALL_1.invokeExact(function, a);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b) {
        try {
            return (long) CALL_2.invokeExact(function, a, b);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c) {
        try {
            return (long) CALL_3.invokeExact(function, a, b, c);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d) {
        try {
            return (long) CALL_4.invokeExact(function, a, b, c, d);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d, long e) {
        try {
            return (long) CALL_5.invokeExact(function, a, b, c, d, e);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int post(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) POST.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int postShort(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) POST_SHORT.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int poll(MemorySegment function, long cq, int count, long completions) {
        try {
            return (int) POLL.invokeExact(function, cq, count, completions);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int pollShort(MemorySegment function, long cq, int count, long completions) {
        try {
            return (int) POLL_SHORT.invokeExact(function, cq, count, completions);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /** Downcalls throw nothing of their own; a linkage mistake or a VM error is passed on as it is. */
    static RuntimeException impossible(Throwable t) {
        if (t instanceof RuntimeException unchecked) {
            throw unchecked;
        }
        if (t instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(t);
    }
}
