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
 * The errno of one thread of the operating system, and the memory into which the linker copies it after a call, before
 * the JVM can change it.
 *
 * <p>A virtual thread uses the memory of its carrier. It can't lose its errno to another virtual thread: between {@link
 * #cleared} and {@link #value} stand a call and no blocking operation, and a virtual thread leaves its carrier only in
 * a blocking operation.
 */
final class ThreadErrno {

    private static final Linker LINKER = Linker.nativeLinker();
    private static final StructLayout CAPTURED = Linker.Option.captureStateLayout();
    private static final long OFFSET = CAPTURED.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    /**
     * {@code int *__errno_location(void)}: the name that glibc and musl give to the function behind the macro errno.
     */
    private static final MethodHandle LOCATION = LINKER.downcallHandle(
            LINKER.defaultLookup().findOrThrow("__errno_location"),
            FunctionDescriptor.of(JAVA_LONG),
            Linker.Option.critical(false));

    private static final ThreadLocal<ThreadErrno> OF_THREAD =
            ThreadLocal.withInitial(() -> new ThreadErrno(location(), Arena.ofAuto()));
    /** By the address of errno, which a later thread may take over from one that has ended. */
    static final Map<Long, ThreadErrno> OF_CARRIERS = new ConcurrentHashMap<>();

    private final long location;
    private final MemorySegment captured;

    private ThreadErrno(long location, Arena arena) {
        this.location = location;
        this.captured = arena.allocate(CAPTURED);
    }

    /** The calling thread's, with errno set to 0. */
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
            // the insertion may have blocked and moved this virtual thread to another carrier, so look again
        }
    }

    private static long location() {
        try {
            return (long) LOCATION.invokeExact();
        } catch (Throwable e) {
            throw Downcalls.impossible(e);
        }
    }

    /** Where the linker is to copy errno. */
    MemorySegment captured() {
        return captured;
    }

    /** What the last call left in errno; EIO if it failed without saying why, as some drivers do. */
    int value() {
        int errno = captured.get(JAVA_INT, OFFSET);
        return errno == 0 ? Errno.EIO : errno;
    }
}
