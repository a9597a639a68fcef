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
     * Timestamps of completions ({@code ibv_wc_read_completion_ts}); a completion queue is made with {@link
     * CompletionField#TIMESTAMP}.
     */
    COMPLETION_TIMESTAMPS("ibv_create_cq_ex", CompletionField.TIMESTAMP.needs()),
    /** Reading the device's clock ({@code ibv_query_rt_values_ex}). */
    DEVICE_CLOCK(
            "ibv_query_rt_values_ex",
            "Devices of the drivers mlx4 and mlx5 have it, and so has the embedded device."),
    /** Objects that one thread at a time uses ({@code ibv_alloc_td}). */
    THREAD_DOMAIN(
            "ibv_alloc_td",
            "Devices of the drivers efa, hns, ionic and mlx5 have it, and so has the embedded device."),
    /** Protection domains that make objects in a thread domain ({@code ibv_alloc_parent_domain}). */
    PARENT_DOMAIN(
            "ibv_alloc_parent_domain",
            "Devices of the drivers efa, hns, ionic, mana and mlx5 have it, and so has the embedded device."),
    /**
     * The vendor's options of queue pairs ({@code ibv_query_ece}, {@code ibv_set_ece}). libibverbs does not tell
     * whether a driver has them, so that {@code Context.supports} tells only whether the library has the calls.
     */
    ECE("ibv_set_ece", "Devices of the driver mlx5 have it, with rdma-core 31 or newer."),
    /** A limit for the rate at which a queue pair sends ({@code ibv_modify_qp_rate_limit}). */
    RATE_LIMIT(
            "ibv_modify_qp_rate_limit",
            "Devices of the drivers bnxt_re and mlx5 have it, and so has the embedded device: "
                    + "DeviceAttributesEx.packetPacing shows the limits."),
    /** The effective speed of a port ({@code ibv_query_port_speed}). */
    PORT_SPEED(
            "ibv_query_port_speed",
            "Devices of the drivers efa and mlx5 have it, with rdma-core 62 or newer, and so has the embedded device.");

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
