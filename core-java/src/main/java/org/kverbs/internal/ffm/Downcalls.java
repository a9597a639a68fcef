package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The method handles of all native calls. They are constants, so that the JIT can inline a call, and they take the
 * address of the function first, so that one handle serves the function pointers of every driver.
 *
 * <p>Integer arguments of every width are passed as {@code long}: the first six travel in registers of 64 bits on
 * x86_64 and aarch64, and the callee reads the low bits that its prototype names. No function bound here has more
 * arguments.
 *
 * <p>The methods differ in how a function reports a failure. {@link #call} is for a function that reports it by its
 * result. {@link #withErrno} and {@link #pointer} are for functions that leave the reason in errno. They set errno to 0
 * before the call, because a driver can fail without setting errno.
 */
final class Downcalls {

    private static final Linker LINKER = Linker.nativeLinker();

    // Linking a handle takes milliseconds. Each holder links its own at the first call of its kind, so that a program
    // that only lists devices does not wait for the others. A handle in an initialized class is a constant for the JIT.

    private static final class Call1 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(1));
    }

    private static final class Call2 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(2));
    }

    private static final class Call3 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(3));
    }

    private static final class Call4 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(4));
    }

    private static final class Call5 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(5));
    }

    private static final class Call6 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(longs(6));
    }

    /** Takes six arguments for every function. A function with fewer does not read the others in their registers. */
    private static final class Capturing {
        static final MethodHandle HANDLE =
                LINKER.downcallHandle(longs(6), Linker.Option.captureCallState("errno"));
    }

    private static final class Variadic3 {
        static final MethodHandle HANDLE = LINKER.downcallHandle(
                longs(3), Linker.Option.captureCallState("errno"), Linker.Option.firstVariadicArg(2));
    }

    /** {@code int post(void *queue, void *wr, void **bad_wr)} of a driver that can make a system call. */
    private static final class Post {
        static final MethodHandle HANDLE =
                LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG));
    }

    /**
     * {@link Post} for a driver that only writes to mapped memory. It skips the thread state transition and takes about
     * 5 ns less.
     */
    private static final class PostShort {
        static final MethodHandle HANDLE = LINKER.downcallHandle(
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG), Linker.Option.critical(false));
    }

    /** {@code int poll_cq(struct ibv_cq *, int, struct ibv_wc *)} of a driver that can make a system call. */
    private static final class Poll {
        static final MethodHandle HANDLE =
                LINKER.downcallHandle(FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG));
    }

    /** {@link Poll} for a driver that only reads mapped memory. */
    private static final class PollShort {
        static final MethodHandle HANDLE = LINKER.downcallHandle(
                FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_LONG), Linker.Option.critical(false));
    }

    private Downcalls() {}

    /** Links all calls of {@link #call} now. For a caller that makes its first ones while a driver holds a lock. */
    static void linkCalls() {
        Stream.of(Call1.HANDLE, Call2.HANDLE, Call3.HANDLE, Call4.HANDLE, Call5.HANDLE, Call6.HANDLE)
                .forEach(Objects::requireNonNull);
    }

    private static FunctionDescriptor longs(int count) {
        var arguments = new MemoryLayout[count];
        Arrays.fill(arguments, JAVA_LONG);
        return FunctionDescriptor.of(JAVA_LONG, arguments);
    }

    /**
     * Returns 0 or -errno for a function that returns 0, a positive errno, or -1 with errno. Some drivers return a
     * negative errno, and some functions that document -1 return the result of the driver or the kernel and leave errno
     * unset.
     *
     * @param result the result of {@link #withErrno}
     */
    static int status(long result) {
        int code = (int) result;
        if (code == -1) {
            return -errno(result);
        }
        return code > 0 ? -code : code;
    }

    /** Returns the number or -errno for a function that returns a number from 0, or a negative number with errno. */
    static int number(long result) {
        int code = (int) result;
        return code < 0 ? -errno(result) : code;
    }

    /** Returns the errno of a result of {@link #withErrno}. */
    static int errno(long result) {
        return (int) (result >>> Integer.SIZE);
    }

    /** Calls a function that returns an int. Returns its result in the lower 32 bits and errno in the upper ones. */
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
            return pair((long) Capturing.HANDLE.invokeExact(function, errno.captured(), a, b, c, d, e, f), errno);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /**
     * Calls a function with two fixed arguments and one variadic one, such as fcntl(fd, F_SETFL, flags); see {@link
     * #withErrno}.
     */
    static long variadicWithErrno(MemorySegment function, long a, long b, long c) {
        ThreadErrno errno = ThreadErrno.cleared();
        try {
            return pair((long) Variadic3.HANDLE.invokeExact(function, errno.captured(), a, b, c), errno);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    private static long pair(long result, ThreadErrno errno) {
        return (long) errno.value() << Integer.SIZE | result & 0xffff_ffffL;
    }

    /** Calls a function that returns a pointer, or NULL with errno. Returns the pointer or -errno. */
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

    static long pointer(MemorySegment function, long a, long b, long c, long d, long e, long f) {
        ThreadErrno errno = ThreadErrno.cleared();
        try {
            long pointer = (long) Capturing.HANDLE.invokeExact(function, errno.captured(), a, b, c, d, e, f);
            return pointer == 0 ? -errno.value() : pointer;
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /** Calls a function that does not use errno and returns its result. */
    static long call(MemorySegment function, long a) {
        try {
            return (long) Call1.HANDLE.invokeExact(function, a);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b) {
        try {
            return (long) Call2.HANDLE.invokeExact(function, a, b);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c) {
        try {
            return (long) Call3.HANDLE.invokeExact(function, a, b, c);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d) {
        try {
            return (long) Call4.HANDLE.invokeExact(function, a, b, c, d);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d, long e) {
        try {
            return (long) Call5.HANDLE.invokeExact(function, a, b, c, d, e);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static long call(MemorySegment function, long a, long b, long c, long d, long e, long f) {
        try {
            return (long) Call6.HANDLE.invokeExact(function, a, b, c, d, e, f);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int post(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) Post.HANDLE.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int postShort(MemorySegment function, long queue, long workRequests, long badWorkRequest) {
        try {
            return (int) PostShort.HANDLE.invokeExact(function, queue, workRequests, badWorkRequest);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int poll(MemorySegment function, long cq, int count, long completions) {
        try {
            return (int) Poll.HANDLE.invokeExact(function, cq, count, completions);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    static int pollShort(MemorySegment function, long cq, int count, long completions) {
        try {
            return (int) PollShort.HANDLE.invokeExact(function, cq, count, completions);
        } catch (Throwable t) {
            throw impossible(t);
        }
    }

    /**
     * Throws or wraps an exception of a downcall. Native functions throw none, so it is a linkage error or an error of
     * the VM.
     */
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
