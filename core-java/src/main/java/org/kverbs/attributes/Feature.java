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
    /** Atomic writes of 8 bytes ({@code ibv_wr_atomic_write}), on a queue pair that was made for them. */
    ATOMIC_WRITE(
            "ibv_wr_atomic_write",
            "It needs rdma-core 44 or newer, and a device with DeviceCapability.ATOMIC_WRITE: Soft-RoCE of Linux 6.2 "
                    + "or newer on a 64-bit processor, or the embedded device."),
    /** The flush of writes in a peer's memory ({@code ibv_wr_flush}), on a queue pair that was made for it. */
    FLUSH(
            "ibv_wr_flush",
            "It needs rdma-core 45 or newer, and a device with DeviceCapability.FLUSH_GLOBAL or FLUSH_PERSISTENT: "
                    + "Soft-RoCE of Linux 6.2 or newer, or the embedded device.");

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
