package org.kverbs.embedded.internal.objects;

/**
 * The GID table of a device's port. All entries are of type RoCE v2. An address keeps its index while the device lives.
 */
public final class Gids {

    private final long[] halves;

    /** @param halves upper and lower half of each GID, as big-endian numbers */
    public Gids(long... halves) {
        this.halves = halves.clone();
    }

    public int size() {
        return halves.length / 2;
    }

    public long high(int index) {
        return halves[2 * index];
    }

    public long low(int index) {
        return halves[2 * index + 1];
    }

    /** Returns the index of an address; below zero if the table does not have it. */
    public int indexOf(long high, long low) {
        for (int i = 0; i < size(); i++) {
            if (high(i) == high && low(i) == low) {
                return i;
            }
        }
        return -1;
    }

    /** Tells whether a GID is {@code ::ffff:a.b.c.d}. */
    public static boolean isV4(long high, long low) {
        return high == 0 && low >>> 32 == 0xffff;
    }

    /** Tells whether a GID is of 224.0.0.0/4 or ff00::/8. */
    public static boolean isMulticast(long high, long low) {
        return isV4(high, low) ? (low >>> 28 & 0xf) == 0xe : high >>> 56 == 0xff;
    }
}
