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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.memory.Memory;

/**
 * The errno of one thread of the operating system, and the memory into which the linker copies errno after a call,
 * before the JVM can change it.
 *
 * <p>A virtual thread uses the memory of its carrier. It cannot lose its errno to another virtual thread: a virtual
 * thread leaves its carrier only in a blocking operation, and there is none between {@link #cleared} and {@link
 * #value}.
 */
final class ThreadErrno {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final long OFFSET = CAPTURED.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    /** {@code int *__errno_location(void)}, the function behind the macro errno in glibc and musl. */
    private static final MethodHandle LOCATION = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("__errno_location"),
            FunctionDescriptor.of(JAVA_LONG),
            Linker.Option.critical(false));

    private static final ThreadLocal<ThreadErrno> OF_THREAD =
            ThreadLocal.withInitial(() -> new ThreadErrno(location(), Arena.ofAuto()));
    /**
     * The instances of carriers by the address of errno. A later thread can reuse the address of one that has ended.
     */
    static final Map<Long, ThreadErrno> OF_CARRIERS = new ConcurrentHashMap<>();

    private final long location;
    private final MemorySegment captured;

    private ThreadErrno(long location, Arena arena) {
        this.location = location;
        this.captured = arena.allocate(CAPTURED);
    }

    /** Returns the instance of the calling thread after setting its errno to 0. */
    static ThreadErrno cleared() {
        ThreadErrno own = Thread.currentThread().isVirtual() ? ofCarrier() : OF_THREAD.get();
        Memory.putInt(own.location, 0);
        return own;
    }

    private static ThreadErrno ofCarrier() {
        while (true) {
            long location = location();
            ThreadErrno known = OF_CARRIERS.get(location);
            if (known != null) {
                return known;
            }
            OF_CARRIERS.putIfAbsent(location, new ThreadErrno(location, Arena.global()));
            // the insertion can block and so move this virtual thread to another carrier, so look again
        }
    }

    private static long location() {
        try {
            return (long) LOCATION.invokeExact();
        } catch (Throwable e) {
            throw Downcalls.impossible(e);
        }
    }

    /** Returns the memory into which the linker copies errno. */
    MemorySegment captured() {
        return captured;
    }

    /** Returns the errno of the last call; EIO if the call left it 0, as some drivers do when they fail. */
    int value() {
        int errno = captured.get(JAVA_INT, OFFSET);
        return errno == 0 ? Errno.EIO : errno;
    }
}
