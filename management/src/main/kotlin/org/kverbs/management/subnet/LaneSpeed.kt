package org.kverbs.management.subnet

/**
 * The speed of one lane of a link.
 *
 * @property gigabits the gigabits a second on the wire, coding included
 */
public enum class LaneSpeed(
    public val gigabits: Double,
) {
    /** Single data rate. */
    SDR(2.5),

    /** Double data rate. */
    DDR(5.0),

    /** Quad data rate. */
    QDR(10.0),

    /** Mellanox's speed of its own between QDR and FDR. */
    FDR10(10.3125),

    /** Fourteen data rate. */
    FDR(14.0625),

    /** Enhanced data rate. */
    EDR(25.78125),

    /** High data rate. */
    HDR(53.125),

    /** Next data rate. */
    NDR(106.25),

    /** Extreme data rate. */
    XDR(212.5),
}
