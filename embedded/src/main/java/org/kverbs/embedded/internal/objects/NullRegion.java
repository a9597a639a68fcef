package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvAccessFlags;

/** A region without memory ({@code ibv_alloc_null_mr}): any range is inside, and no rkey names it. */
public final class NullRegion extends Mr {

    public NullRegion(Pd pd, int lkey, long structure) {
        super(pd, lkey, 0, structure, MemorySegment.NULL, 0, IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE);
        length = Long.MAX_VALUE;
    }

    @Override
    public boolean isOfProgram() {
        return false;
    }

    @Override
    boolean isRemote() {
        return false;
    }

    @Override
    public long place(long virtual, long bytes) {
        return NOWHERE;
    }
}
