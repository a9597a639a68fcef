package org.kverbs.spi;

/**
 * The layout of the fields of a completion that {@code struct ibv_wc} does not have. C programs read them by calls such
 * as {@code ibv_wc_read_completion_ts}, so verbs.h has no structure of them, and this one is kverbs' own. An array of
 * it stands beside an array of {@code struct ibv_wc}; see {@link CompletionQueueOps#poll(int, long, long)}.
 */
public final class CompletionExtras {
    private CompletionExtras() {}

    /** The size of the structure, in bytes. */
    public static final int SIZE = 40;
    /** The ticks of the device's clock, 64 bits ({@code ibv_wc_read_completion_ts}). */
    public static final int TIMESTAMP = 0;
    /** Nanoseconds since 1970, 64 bits ({@code ibv_wc_read_completion_wallclock_ns}). */
    public static final int WALL_CLOCK = 8;
    /** {@code struct ibv_wc_tm_info}: the tag, 64 bits, and the sender's 32 bits ({@code ibv_wc_read_tm_info}). */
    public static final int TAG_INFO = 16;
    /** The tag of a steering rule, 32 bits ({@code ibv_wc_read_flow_tag}). */
    public static final int FLOW_TAG = 32;
    /** The tag of the customer's VLAN, 16 bits ({@code ibv_wc_read_cvlan}). */
    public static final int CUSTOMER_VLAN = 36;
}
