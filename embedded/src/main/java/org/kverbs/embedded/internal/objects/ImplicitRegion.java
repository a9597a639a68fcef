package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.engine.Engine;

/**
 * A region that stands for the whole address space ({@code man 3 ibv_reg_mr}: implicit ODP). This device uses it only
 * where the program named memory: a wrong address would otherwise end or damage the JVM.
 */
public final class ImplicitRegion extends Mr {

    private final KnownMemory known;

    /** @param engine keeps memory reachable that the region gave out, until its lock is released */
    public ImplicitRegion(
            Pd pd, int lkey, int key, long structure, int access, AddressSpace space, Engine engine) {
        super(pd, lkey, key, structure, MemorySegment.NULL, 0, access, space);
        length = Long.MAX_VALUE;
        known = new KnownMemory(this::forget, engine::keep);
    }

    /** Notes that a range is not the memory that it was: its pages are new to the device. */
    private void forget(long start, long end) {
        PageTable table = pages();
        if (table != null) {
            table.drop(start, end - start);
        }
    }

    /** Notes memory that the program uses through this region. */
    public void willUse(MemorySegment memory) {
        isFile |= memory.isMapped();
        known.add(memory);
    }

    @Override
    public boolean isOfProgram() {
        return false;
    }

    @Override
    public boolean isAlive(long address, long bytes) {
        return known.covers(address, bytes);
    }

    /** Permits what touches no memory, such as a flush, for all of the address space. */
    @Override
    long checkAll(int need, KeyUser user) {
        return pd.protects(user.pd()) && (access & need) == need ? 0 : NONE;
    }

    @Override
    public long place(long virtual, long bytes) {
        return known.covers(virtual, bytes) ? virtual : NONE;
    }
}
