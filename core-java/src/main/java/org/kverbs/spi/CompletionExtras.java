package org.kverbs.spi;

/**
 * The layout of the fields of a completion that {@code struct ibv_wc} does not have. C programs read them by calls such
 * as {@code ibv_wc_read_completion_ts}, so verbs.h has no structure of them, and this one is kverbs' own. An array of
 * it stands beside an array of {@code struct ibv_wc}; see {@link CompletionQueueOps#poll(int, long, long)}.
 */
public final class CompletionExtras {
    private CompletionExtras() {}

    /** The size of the structure, in bytes. */
    public static final int SIZE = 64;
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
    /** The sender's {@code union ibv_gid}, valid with {@link #WITH_SOURCE_GID} ({@code efadv_wc_read_sgid}). */
    public static final int SOURCE_GID = 40;
    /** Bits of {@link #WITH_SOURCE_GID} and {@link #WITH_UNSOLICITED}, 32 bits. */
    public static final int MARKS = 56;

    /** In {@link #MARKS}: the GID is there. As a field of a queue: it asks for GIDs; no wc_flag has this bit. */
    public static final int WITH_SOURCE_GID = 1 << 30;
    /**
     * In {@link #MARKS}: the receive has no request of its own ({@code efadv_wc_is_unsolicited}). As a field of a
     * queue: it asks for this; no wc_flag has this bit.
     */
    public static final int WITH_UNSOLICITED = 1 << 29;
}
