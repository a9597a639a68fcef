package org.kverbs.internal.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import org.kverbs.internal.memory.Memory;

/** Finds the library that a function belongs to. */
final class SharedObject {

    /** {@code int dladdr(const void *, Dl_info *)}. */
    private static final MemorySegment DLADDR = Linker.nativeLinker().defaultLookup().findOrThrow("dladdr");

    private static final long DL_INFO_SIZE = 4 * ADDRESS.byteSize();

    private SharedObject() {}

    /** Returns the path of the library that has a function; empty if no library has it. */
    static String of(MemorySegment function) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment info = arena.allocate(DL_INFO_SIZE, ADDRESS.byteAlignment());
            boolean isFound = (int) Downcalls.call(DLADDR, function.address(), info.address()) != 0;
            long path = info.get(JAVA_LONG, 0); // dli_fname
            return isFound && path != 0 ? Memory.at(path, Integer.MAX_VALUE).getString(0) : "";
        }
    }
}
