package org.kverbs.embedded.internal.objects;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.jspecify.annotations.Nullable;

/**
 * Brings pages of this process in as a touch does, and changes no byte ({@code man 2 madvise}: MADV_POPULATE_READ and
 * MADV_POPULATE_WRITE of Linux 5.14). Where a touch would end the JVM, the kernel refuses: a page is not mapped, is
 * mapped without the right, or lies behind the end of its file.
 */
final class Populate {

    private static final int READ = 22;
    private static final int WRITE = 23;
    private static final @Nullable MethodHandle MADVISE = find();

    private final long pageMask;

    private Populate(long pageMask) {
        this.pageMask = pageMask;
    }

    /** Returns the call for pages of a size; null if this system has no such call, or the JVM may not call it. */
    static @Nullable Populate of(long pageSize) {
        var call = new Populate(-pageSize);
        MemorySegment own = Arena.ofAuto().allocate(1);
        return MADVISE != null && call.bring(own.address(), 1, true) ? call : null;
    }

    private static @Nullable MethodHandle find() {
        if (!Populate.class.getModule().isNativeAccessEnabled()) {
            return null; // the JVM would warn the user of a call that the device can do without
        }
        try {
            Linker linker = Linker.nativeLinker();
            return linker.defaultLookup().find("madvise")
                    .map(function -> linker.downcallHandle(
                            function, FunctionDescriptor.of(JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT)))
                    .orElse(null);
        } catch (UnsupportedOperationException | IllegalCallerException e) {
            return null;
        }
    }

    /** Brings the pages of a range in. Returns false if that is not possible for all of them. */
    boolean bring(long address, long bytes, boolean writes) {
        long start = address & pageMask;
        long length = address + bytes - start + ~pageMask & pageMask;
        try {
            return MADVISE != null && (int) MADVISE.invokeExact(start, length, writes ? WRITE : READ) == 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) { // a native function throws nothing
            throw new IllegalStateException(e);
        }
    }
}
