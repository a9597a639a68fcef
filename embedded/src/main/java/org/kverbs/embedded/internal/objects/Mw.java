package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvMw;
import org.kverbs.internal.abi.IbvMwType;
import org.kverbs.internal.memory.Memory;

/** A memory window ({@code struct ibv_mw}): a key to a part of a region (IBA volume 1, 10.6.7). */
public final class Mw extends MemoryKey {

    public final long structure;
    public final int type;
    /** The region that the window is bound to, or null. */
    public @Nullable Mr mr;
    /** The queue pair that bound a type 2 window: peers may use the window by this queue pair only. */
    public @Nullable KeyUser boundBy;
    private long start;
    private long length;
    private int access;

    public Mw(Pd pd, int key, long structure, int type) {
        super(pd, key);
        this.structure = structure;
        this.type = type;
    }

    @Override
    long translate(long virtual, long bytes, int need, KeyUser user) {
        Mr region = permitting(need, user);
        long offset = region == null ? NONE : offset(virtual, bytes, first(), length);
        return region == null || offset < 0 ? NONE : region.reach(start + offset, bytes, need, user);
    }

    @Override
    long check(long virtual, long bytes, int need, KeyUser user) {
        Mr region = permitting(need, user);
        long offset = region == null ? NONE : offset(virtual, bytes, first(), length);
        return region == null || offset < 0 ? NONE : region.find(start + offset, bytes, need, user);
    }

    /** Returns the region, if the window permits a use of it. */
    private @Nullable Mr permitting(int need, KeyUser user) {
        Mr region = mr;
        if (region == null || (access & need) != need
                || (type == IbvMwType.IBV_MW_TYPE_1 ? !pd.protects(user.pd()) : user != boundBy)) {
            return null;
        }
        return region;
    }

    @Override
    long checkAll(int need, KeyUser user) {
        return check(first(), length, need, user);
    }

    /** Returns the address of the first byte in the terms of peers. */
    private long first() {
        return (access & IbvAccessFlags.IBV_ACCESS_ZERO_BASED) == 0 ? start : 0;
    }

    /**
     * Gives the window the key of a bind that is being posted. The program has the key before the bind is carried out.
     * The key follows that of the last posted bind, done or not, as with a card and with Soft-RoCE.
     */
    public int giveKey() {
        int last = Memory.getInt(structure + IbvMw.RKEY);
        int next = last & ~0xff | last + 1 & 0xff;
        Memory.putInt(structure + IbvMw.RKEY, next);
        return next;
    }

    /** Admits peers to a part of a region; a length of 0 admits them to nothing. */
    public void bind(@Nullable Mr region, long from, long bytes, int allowed, KeyUser by) {
        unbind();
        if (region != null && bytes > 0) {
            mr = region;
            region.windows++;
            start = from;
            length = bytes;
            access = allowed;
            boundBy = by;
        }
    }

    /** Ends the admission of peers. */
    public void unbind() {
        if (mr != null) {
            mr.windows--;
        }
        mr = null;
        boundBy = null;
    }
}
