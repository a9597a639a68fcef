package org.kverbs.attributes;

/** How far a flush brings the writes before it: {@code enum ibv_placement_type} (ibv_wr_post(3)). */
public enum FlushPlacement {
    /**
     * {@code IBV_FLUSH_GLOBAL}: every reader of the memory sees the writes: processors and devices. Needs {@link
     * AccessFlag#FLUSH_GLOBAL}.
     */
    GLOBAL(1),
    /**
     * {@code IBV_FLUSH_PERSISTENT}: the writes survive a loss of power. The region must be of persistent memory. Needs
     * {@link AccessFlag#FLUSH_PERSISTENT}.
     */
    PERSISTENT(2);

    private final int bit;

    FlushPlacement(int bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_placement_type}. */
    public int bit() {
        return bit;
    }
}
