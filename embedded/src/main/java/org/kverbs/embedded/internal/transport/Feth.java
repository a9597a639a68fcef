package org.kverbs.embedded.internal.transport;

import org.kverbs.internal.PlacementExtensions;

/**
 * The word of a FETH (IBA volume 1, annex A19): {@code enum ibv_placement_type} in bits 0 to 3, {@code enum
 * ibv_selectivity_level} in bits 4 and 5, and reserved bits.
 */
final class Feth {

    private static final int LEVEL_SHIFT = 4;
    private static final int TYPES = (1 << LEVEL_SHIFT) - 1;
    private static final int LEVELS = 3;

    private Feth() {}

    static int of(int type, int level) {
        return type & TYPES | (level & LEVELS) << LEVEL_SHIFT;
    }

    /** Tells whether the type and the level are known. A receiver ignores the reserved bits. */
    static boolean isValid(int placement) {
        int type = placement & TYPES;
        int known = PlacementExtensions.IBV_FLUSH_GLOBAL | PlacementExtensions.IBV_FLUSH_PERSISTENT;
        return type != 0 && (type & ~known) == 0 && level(placement) <= PlacementExtensions.IBV_FLUSH_MR;
    }

    /** Tells whether the flush is of a whole region or window, whatever the RETH says. */
    static boolean isOfAll(int placement) {
        return level(placement) == PlacementExtensions.IBV_FLUSH_MR;
    }

    private static int level(int placement) {
        return placement >>> LEVEL_SHIFT & LEVELS;
    }

    /** Returns the {@code enum ibv_access_flags} that the region and the queue pair must have. */
    static int need(int placement) {
        int global = (placement & PlacementExtensions.IBV_FLUSH_GLOBAL) == 0
                ? 0 : PlacementExtensions.IBV_ACCESS_FLUSH_GLOBAL;
        int persistent = (placement & PlacementExtensions.IBV_FLUSH_PERSISTENT) == 0
                ? 0 : PlacementExtensions.IBV_ACCESS_FLUSH_PERSISTENT;
        return global | persistent;
    }
}
