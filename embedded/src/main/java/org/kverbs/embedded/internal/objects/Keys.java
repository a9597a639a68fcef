package org.kverbs.embedded.internal.objects;

import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Semantics;
import org.kverbs.embedded.internal.watch.Posted;

/**
 * Holds all memory keys of a device: the lkeys of regions, for programs of this side, and the rkeys of regions and
 * windows, for peers. Keys are random, so that a peer cannot guess a key. With strict semantics no number is a key of
 * both kinds; with those of rxe a region has one number for both.
 */
public final class Keys {

    private static final int INDEX = ~0xff;

    private final Random random;
    private final boolean strict;
    /** Regions by the upper 24 bits of their lkeys. */
    private final IntMap<Mr> local = new IntMap<>();
    /** Regions and windows by the upper 24 bits of their rkeys. */
    private final IntMap<MemoryKey> remote = new IntMap<>();

    Keys(Random random, Semantics semantics) {
        this.random = random;
        this.strict = semantics == Semantics.STRICT;
    }

    /** Returns a new rkey that shares its upper 24 bits with no other key; never 0. */
    public int fresh() {
        int key;
        do {
            key = random.nextInt();
        } while ((key & INDEX) == 0 || isTaken(key));
        return key;
    }

    /** Returns an lkey for a region with this rkey. */
    public int freshLocal(int rkey) {
        int key = rkey;
        while (strict && (key & INDEX) == (rkey & INDEX)) {
            key = fresh();
        }
        return key;
    }

    private boolean isTaken(int key) {
        return local.get(key & INDEX) != null || remote.get(key & INDEX) != null;
    }

    /** Returns the number of regions and windows. */
    public int count() {
        return remote.size();
    }

    public void add(MemoryKey memory) {
        if (!(memory instanceof Mr region)) {
            remote.put(memory.key & INDEX, memory);
            return;
        }
        if (region.isRemote()) {
            remote.put(region.key & INDEX, region);
        }
        local.put(region.lkey & INDEX, region);
    }

    public void remove(MemoryKey memory) {
        if (!(memory instanceof Mr region)) {
            remote.remove(memory.key & INDEX);
            return;
        }
        if (region.isRemote()) {
            remote.remove(region.key & INDEX);
        }
        local.remove(region.lkey & INDEX);
    }

    /** Returns the region or window with exactly this rkey, or null. */
    public @Nullable MemoryKey find(int rkey) {
        MemoryKey found = remote.get(rkey & INDEX);
        return found != null && found.key == rkey ? found : null;
    }

    /** Returns the region with exactly this lkey, or null. */
    public @Nullable Mr region(int lkey) {
        Mr found = local.get(lkey & INDEX);
        return found != null && found.lkey == lkey ? found : null;
    }

    /** Does {@link MemoryKey#translate} for a peer's rkey; returns {@link MemoryKey#NONE} for an unknown key. */
    public long translate(int rkey, long virtual, long length, int need, KeyUser user) {
        MemoryKey found = find(rkey);
        return found == null ? MemoryKey.NONE : found.translate(virtual, length, need, user);
    }

    /** Tells whether a peer may use a range that the device does not touch now; see {@link MemoryKey#check}. */
    public boolean permits(int rkey, long virtual, long length, int need, KeyUser user) {
        MemoryKey found = find(rkey);
        return found != null && found.check(virtual, length, need, user) != MemoryKey.NONE;
    }

    /** Does {@link #permits} for all memory of a key. */
    public boolean permitsAll(int rkey, int need, KeyUser user) {
        MemoryKey found = find(rkey);
        return found != null && found.checkAll(need, user) != MemoryKey.NONE;
    }

    /** Does {@link #permits} for the lkey of an entry of this side. */
    public boolean permitsLocal(int lkey, long virtual, long length, int need, KeyUser user) {
        Mr found = region(lkey);
        return found != null && found.check(virtual, length, need, user) != MemoryKey.NONE;
    }

    /** Does {@link MemoryKey#translate} for the lkey of an entry of this side. */
    public long translateLocal(int lkey, long virtual, long length, int need, KeyUser user) {
        Mr found = region(lkey);
        return found == null ? MemoryKey.NONE : found.translate(virtual, length, need, user);
    }

    /** Does {@link Mr#plain} for a peer's rkey; returns {@link MemoryKey#NONE} for a window, too. */
    public long plain(int rkey, long virtual, long length, int need, KeyUser user) {
        return find(rkey) instanceof Mr region ? region.plain(virtual, length, need, user) : MemoryKey.NONE;
    }

    /** Does {@link Mr#plain} for the lkey of an entry of this side. */
    public long plainLocal(int lkey, long virtual, long length, int need, KeyUser user) {
        Mr found = region(lkey);
        return found == null ? MemoryKey.NONE : found.plain(virtual, length, need, user);
    }

    /** Does {@link #plain} for a thread that is not alone in the engine. */
    public long peek(int rkey, long virtual, long length, int need, KeyUser user) {
        return remote.peek(rkey & INDEX) instanceof Mr region && region.key == rkey
                ? region.plain(virtual, length, need, user)
                : MemoryKey.NONE;
    }

    /** Does {@link #plainLocal} for a thread that is not alone in the engine. */
    public long peekLocal(int lkey, long virtual, long length, int need, KeyUser user) {
        Mr found = local.peek(lkey & INDEX);
        return found != null && found.lkey == lkey
                ? found.plain(virtual, length, need, user)
                : MemoryKey.NONE;
    }

    /** Lets the diagnostics watch an entry of a posted request, if its region permits that use. */
    public void watch(Posted posted, int entry, int lkey, long virtual, long bytes, int need, Pd by) {
        Mr region = region(lkey);
        long at = region == null || bytes == 0 ? MemoryKey.NONE : region.locate(virtual, bytes, need, by);
        if (region != null && at != MemoryKey.NONE) {
            posted.add(entry, region, at, bytes, need != 0);
        }
    }
}
