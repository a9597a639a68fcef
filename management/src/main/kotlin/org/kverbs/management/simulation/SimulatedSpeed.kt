package org.kverbs.management.simulation

/**
 * The speed of a lane of a simulated link. A port of one speed can do all slower ones, too.
 *
 * @property text the name in a net file
 */
public enum class SimulatedSpeed(
    public val text: String,
    internal val enabled: Int,
    internal val extended: Int,
) {
    /** 2.5 Gbit/s. */
    SDR("SDR", 1, 0),

    /** 5 Gbit/s. */
    DDR("DDR", 3, 0),

    /** 10 Gbit/s. */
    QDR("QDR", 7, 0),

    /** 10 Gbit/s with the coding of FDR, of one vendor. */
    FDR10("FDR10", 7, 0),

    /** 14.0625 Gbit/s. */
    FDR("FDR", 7, 1),

    /** 25.78125 Gbit/s. */
    EDR("EDR", 7, 3),

    /** 53.125 Gbit/s. */
    HDR("HDR", 7, 7),

    /** 106.25 Gbit/s. */
    NDR("NDR", 7, 15),
    ;

    /** Whether a port of this speed can do FDR10. */
    internal val hasFdr10: Boolean get() = ordinal >= FDR10.ordinal
}
