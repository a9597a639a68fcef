package org.kverbs.embedded.internal.objects;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.watch.WatchedMemory;
import org.kverbs.internal.abi.IbvAccessFlags;

/** A memory region ({@code struct ibv_mr}). */
public sealed class Mr extends MemoryKey implements WatchedMemory permits ImplicitRegion, NullRegion {

    private static final int WRITES = IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE
            | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;

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
    /** The device memory that the region is a part of, or null. */
    public @Nullable Dm deviceMemory;
    /** The pages that the device has, if the region is paged on demand. */
    private final @Nullable PageTable pages;
    /** Tells whether the program has freed the memory. */
    private MemorySegment.Scope scope;
    /** Whether the memory, or a part of it, may be that of a file. */
    boolean isFile;
    private boolean toldFreed;

    public Mr(Pd pd, int lkey, int key, long structure, MemorySegment memory, long iova, int access) {
        this(pd, lkey, key, structure, memory, iova, access, null);
    }

    /** Makes a region; with a view of the address space, one whose pages are brought in on demand. */
    public Mr(
            Pd pd, int lkey, int key, long structure, MemorySegment memory, long iova, int access,
            @Nullable AddressSpace paged) {
        super(pd, key);
        this.lkey = lkey;
        this.structure = structure;
        this.base = memory.address();
        this.length = memory.byteSize();
        this.scope = memory.scope();
        this.isFile = memory.isMapped();
        this.iova = iova;
        this.access = access;
        this.pages = paged == null ? null : new PageTable(paged);
    }

    /** Moves the region to other memory. */
    public void moveTo(MemorySegment memory) {
        base = memory.address();
        length = memory.byteSize();
        scope = memory.scope();
        isFile = memory.isMapped();
        iova = (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? base : 0;
        toldFreed = false;
        if (pages != null) {
            pages.clear();
        }
    }

    /** Gives the region other rights. */
    public void changeAccess(int newAccess) {
        access = newAccess;
        if (pages != null) {
            pages.clear();
        }
    }

    /** Tells whether the region is memory that the program registered. */
    public boolean isOfProgram() {
        return deviceMemory == null;
    }

    /**
     * Returns the native address of a range that stays usable while the region does; {@link #NONE} for memory of the
     * device or of a file, pages on demand, or a range that is outside, freed, or does not permit the use. Has no
     * consequence.
     */
    long plain(long virtual, long bytes, int need, KeyUser user) {
        boolean usable = pages == null && isOfProgram() && !isFile
                && pd.protects(user.pd()) && (access & need) == need;
        return usable ? place(virtual, bytes) : NONE;
    }

    /** Returns the bytes that the region pins: those that count as locked memory. */
    public long pinned() {
        return pages == null && isOfProgram() ? length : 0;
    }

    /** Returns the pages that the device has; null if the region is not paged on demand. */
    public @Nullable PageTable pages() {
        return pages;
    }

    /** Tells whether peers can name the region by an rkey. */
    boolean isRemote() {
        return true;
    }

    @Override
    public boolean isAlive(long address, long bytes) {
        return scope.isAlive();
    }

    @Override
    long translate(long virtual, long bytes, int need, KeyUser user) {
        return pd.protects(user.pd()) && (access & need) == need ? reach(virtual, bytes, need, user) : NONE;
    }

    @Override
    final long check(long virtual, long bytes, int need, KeyUser user) {
        return pd.protects(user.pd()) && (access & need) == need ? find(virtual, bytes, need, user) : NONE;
    }

    @Override
    long checkAll(int need, KeyUser user) {
        return check(iova, length, need, user);
    }

    /** Does {@link #check} for a use whose rights were checked. */
    long find(long virtual, long bytes, int need, KeyUser user) {
        long found = place(virtual, bytes);
        if (found == NONE && !scope.isAlive()) {
            tellFreed(bytes, need, user);
        }
        return found;
    }

    /** Does {@link #translate} for a use whose rights were checked. */
    long reach(long virtual, long bytes, int need, KeyUser user) {
        long found = find(virtual, bytes, need, user);
        if (found == NONE) {
            return NONE;
        }
        if (isFile) {
            user.touchesFile();
        }
        return pages == null || bring(pages, found, bytes, need, user) ? found : NONE;
    }

    /** Brings the pages of a range in. Returns false if a part of it is not mapped. */
    private static boolean bring(PageTable pages, long at, long bytes, int need, KeyUser user) {
        long missed = pages.fetch(at, bytes, (need & WRITES) != 0);
        if (missed > 0) {
            user.pagesMissed(missed);
        }
        return missed >= 0;
    }

    /** Reports once that the device needed memory of this region that the program has freed. */
    private void tellFreed(long bytes, int need, KeyUser user) {
        if (!toldFreed) {
            toldFreed = true;
            user.memoryFreed(base, bytes, need);
        }
    }

    /** Returns the native address of a range; {@link #NONE} if a byte of it is outside or freed. */
    public long place(long virtual, long bytes) {
        long offset = scope.isAlive() ? offset(virtual, bytes, iova, length) : NONE;
        return offset < 0 ? NONE : base + offset;
    }

    /**
     * Returns the native address of a range for diagnostics, which touch it now; {@link #NONE} if it may not be used or
     * is not there.
     */
    final long locate(long virtual, long bytes, int need, Pd by) {
        long found = pd.protects(by) && (access & need) == need ? place(virtual, bytes) : NONE;
        boolean isThere = found >= 0 && (pages == null || pages.bring(found, bytes, (need & WRITES) != 0));
        return isThere ? found : NONE;
    }
}
