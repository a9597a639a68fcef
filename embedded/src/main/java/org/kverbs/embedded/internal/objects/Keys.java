package org.kverbs.embedded.internal.objects;

import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.watch.Posted;

/** All memory keys of a device. Random, so that a peer who was not told a key does not guess it. */
public final class Keys {

    private static final int INDEX = ~0xff;

    private final Random random;
    /** By the upper 24 bits. */
    private final IntMap<MemoryKey> byIndex = new IntMap<>();

    Keys(Random random) {
        this.random = random;
    }

    /** A key that no other has in its upper 24 bits; never 0. */
    public int fresh() {
        int key;
        do {
            key = random.nextInt();
        } while ((key & INDEX) == 0 || byIndex.get(key & INDEX) != null);
        return key;
    }

    /** How many keys there are. */
    public int count() {
        return byIndex.size();
    }

    public void add(MemoryKey memory) {
        byIndex.put(memory.key & INDEX, memory);
    }

    public void remove(MemoryKey memory) {
        byIndex.remove(memory.key & INDEX);
    }

    /** What has exactly this key, or null. */
    public @Nullable MemoryKey find(int key) {
        MemoryKey found = byIndex.get(key & INDEX);
        return found != null && found.key == key ? found : null;
    }

    /** {@link MemoryKey#translate} by key; {@link MemoryKey#NONE} for a key that there is not. */
    public long translate(int key, long virtual, long length, int need, KeyUser user) {
        MemoryKey found = find(key);
        return found == null ? MemoryKey.NONE : found.translate(virtual, length, need, user);
    }

    /** Has an entry of a posted request watched, if it is of a region that may be used so. */
    public void watch(Posted posted, int entry, int lkey, long virtual, long bytes, int need, Pd by) {
        Mr region = region(lkey);
        long at = region == null || bytes == 0 ? MemoryKey.NONE : region.locate(virtual, bytes, need, by);
        if (region != null && at != MemoryKey.NONE) {
            posted.add(entry, region, at, bytes, need != 0);
        }
    }

    /** The region with this lkey or rkey, or null. */
    @Nullable Mr region(int key) {
        return find(key) instanceof Mr mr ? mr : null;
    }
}
