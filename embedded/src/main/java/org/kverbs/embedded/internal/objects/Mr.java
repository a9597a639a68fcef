package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.kverbs.embedded.internal.watch.WatchedMemory;
import org.kverbs.internal.abi.IbvAccessFlags;

/** A memory region ({@code struct ibv_mr}). */
public final class Mr extends MemoryKey implements WatchedMemory {

    /** The key in entries of this side; {@link #key} is the rkey. */
    public final int lkey;
    final long structure;
    public long base;
    public long length;
    /** The address of the first byte in the terms of peers and work requests. */
    public long iova;
    public int access;
    /** The number of windows that are bound to this region. */
    public int windows;
    /** Tells whether the program has freed the memory. */
    private MemorySegment.Scope scope;
    private boolean isFile;
    private boolean toldFreed;

    public Mr(Pd pd, int lkey, int key, long structure, MemorySegment memory, long iova, int access) {
        super(pd, key);
        this.lkey = lkey;
        this.structure = structure;
        this.base = memory.address();
        this.length = memory.byteSize();
        this.scope = memory.scope();
        this.isFile = memory.isMapped();
        this.iova = iova;
        this.access = access;
    }

    /** Moves the region to other memory. */
    public void moveTo(MemorySegment memory) {
        base = memory.address();
        length = memory.byteSize();
        scope = memory.scope();
        isFile = memory.isMapped();
        iova = (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? base : 0;
        toldFreed = false;
    }

    @Override
    public boolean isAlive() {
        return scope.isAlive();
    }

    @Override
    long translate(long virtual, long bytes, int need, KeyUser user) {
        long found = locate(virtual, bytes, need, user.pd());
        if (found == NONE && !isAlive()) {
            tellFreed(bytes, need, user);
        }
        tellFile(user);
        return found;
    }

    @Override
    long translateAll(int need, KeyUser user) {
        return translate(iova, length, need, user);
    }

    /** Notes that the device is about to touch memory, if it may be that of a file. */
    void tellFile(KeyUser user) {
        if (isFile) {
            user.touchesFile();
        }
    }

    /** Reports once that the device needed memory of this region that the program has freed. */
    void tellFreed(long bytes, int need, KeyUser user) {
        if (!toldFreed) {
            toldFreed = true;
            user.memoryFreed(base, bytes, need);
        }
    }

    /** Does {@link #translate} for a caller with a protection domain and no queue pair. */
    long locate(long virtual, long bytes, int need, Pd by) {
        if (by != pd || (access & need) != need || !scope.isAlive()) {
            return NONE;
        }
        long offset = offset(virtual, bytes, iova, length);
        return offset < 0 ? NONE : base + offset;
    }
}
