package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;

/** Views of native memory by address: the only place where kverbs makes a segment out of a number. */
public final class Memory {

    private Memory() {}

    /**
     * A view of a C structure. Made anew at each use on purpose: the JIT removes the object and the bounds checks of
     * constant offsets, which it can't do for a segment held in a field.
     *
     * @param address where the structure stands; it must be alive for as long as the view is used
     * @param size bytes, a constant
     */
    public static MemorySegment at(long address, long size) {
        return MemorySegment.ofAddress(address).reinterpret(size);
    }
}
