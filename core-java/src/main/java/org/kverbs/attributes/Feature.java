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

    /** Extended reliable connections ({@code ibv_open_xrcd}). */
    XRC(
            "ibv_open_xrcd",
            "Devices of the drivers mlx4 and mlx5 have XRC, qedr since rdma-core 32, hns since rdma-core 36, and so "
                    + "has the embedded device.");

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
