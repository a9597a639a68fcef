package org.kverbs.attributes;

/**
 * A part of the verbs that not every device has. {@code Context.supports} tells whether a device has it. The calls of a
 * part that is missing throw {@code UnsupportedVerbException}, with the text of {@link #needs}.
 */
public enum Feature {
    /** Completion events that wait for several completions ({@code ibv_modify_cq}). */
    COMPLETION_MODERATION(
            "ibv_modify_cq",
            "Devices of the drivers mlx4 and mlx5 have it since Linux 4.15, and so has the embedded device: "
                    + "DeviceAttributesEx.cqModeration shows the limits."),
    /**
     * Queue pairs of type {@link QueuePairType#RAW_PACKET}, which send and receive Ethernet frames. No function of a
     * driver shows this feature, so a device counts as having it if it has flow rules: without one a raw packet queue
     * pair receives nothing. The driver mana has such queue pairs without rules, for receive-side scaling.
     */
    RAW_PACKET(
            "ibv_create_qp",
            "Devices of the drivers mlx4, mlx5, bnxt_re and mana have raw packet queue pairs, and so have the embedded "
                    + "devices in this process; an embedded device on UDP sockets has none."),
    /** Rules that choose the queue pair of a received frame ({@code ibv_create_flow}). */
    FLOW_STEERING(
            "ibv_create_flow",
            "Devices of the drivers mlx4, mlx5 and, since rdma-core 60, bnxt_re have it, and so have the embedded "
                    + "devices in this process; an embedded device on UDP sockets has none."),
    /** Counters of flow rules ({@code ibv_create_counters}). */
    FLOW_COUNTERS(
            "ibv_create_counters",
            "Devices of the driver mlx5 have it since rdma-core 19, and so have the embedded devices in this process; "
                    + "an embedded device on UDP sockets has none.");

    private final String verb;
    private final String needs;

    Feature(String verb, String needs) {
        this.verb = verb;
        this.needs = needs;
    }

    /** Returns the C function that a device with this feature has. */
    public String verb() {
        return verb;
    }

    /** Returns whole sentences that say which devices and which release of rdma-core have it. */
    public String needs() {
        return needs;
    }
}
