package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvRate;

/**
 * A limit on the rate at which packets are sent on a path: {@code enum ibv_rate} (IBA volume 1, section 9.11). The
 * codes are not in the order of the rates: 3 is 10 Gb/s and 5 is 5 Gb/s.
 */
public enum StaticRate {
    /** {@code IBV_RATE_MAX}: no limit but the rate of the port. */
    MAX(IbvRate.IBV_RATE_MAX, -1, -1),
    /** {@code IBV_RATE_2_5_GBPS}: 2.5 Gb/s. */
    GBPS_2_5(IbvRate.IBV_RATE_2_5_GBPS, 2500, 1),
    /** {@code IBV_RATE_5_GBPS}: 5 Gb/s. */
    GBPS_5(IbvRate.IBV_RATE_5_GBPS, 5000, 2),
    /** {@code IBV_RATE_10_GBPS}: 10 Gb/s. */
    GBPS_10(IbvRate.IBV_RATE_10_GBPS, 10000, 4),
    /** {@code IBV_RATE_14_GBPS}: 14 Gb/s. */
    GBPS_14(IbvRate.IBV_RATE_14_GBPS, 14062, -1),
    /** {@code IBV_RATE_20_GBPS}: 20 Gb/s. */
    GBPS_20(IbvRate.IBV_RATE_20_GBPS, 20000, 8),
    /** {@code IBV_RATE_25_GBPS}: 25 Gb/s. */
    GBPS_25(IbvRate.IBV_RATE_25_GBPS, 25781, -1),
    /** {@code IBV_RATE_28_GBPS}: 28 Gb/s. */
    GBPS_28(IbvRate.IBV_RATE_28_GBPS, 28125, 11),
    /** {@code IBV_RATE_30_GBPS}: 30 Gb/s. */
    GBPS_30(IbvRate.IBV_RATE_30_GBPS, 30000, 12),
    /** {@code IBV_RATE_40_GBPS}: 40 Gb/s. */
    GBPS_40(IbvRate.IBV_RATE_40_GBPS, 40000, 16),
    /** {@code IBV_RATE_50_GBPS}: 50 Gb/s. */
    GBPS_50(IbvRate.IBV_RATE_50_GBPS, 53125, 20),
    /** {@code IBV_RATE_56_GBPS}: 56 Gb/s. */
    GBPS_56(IbvRate.IBV_RATE_56_GBPS, 56250, -1),
    /** {@code IBV_RATE_60_GBPS}: 60 Gb/s. */
    GBPS_60(IbvRate.IBV_RATE_60_GBPS, 60000, 24),
    /** {@code IBV_RATE_80_GBPS}: 80 Gb/s. */
    GBPS_80(IbvRate.IBV_RATE_80_GBPS, 80000, 32),
    /** {@code IBV_RATE_100_GBPS}: 100 Gb/s. */
    GBPS_100(IbvRate.IBV_RATE_100_GBPS, 103125, -1),
    /** {@code IBV_RATE_112_GBPS}: 112 Gb/s. */
    GBPS_112(IbvRate.IBV_RATE_112_GBPS, 112500, -1),
    /** {@code IBV_RATE_120_GBPS}: 120 Gb/s. */
    GBPS_120(IbvRate.IBV_RATE_120_GBPS, 120000, 48),
    /** {@code IBV_RATE_168_GBPS}: 168 Gb/s. */
    GBPS_168(IbvRate.IBV_RATE_168_GBPS, 168750, -1),
    /** {@code IBV_RATE_200_GBPS}: 200 Gb/s. */
    GBPS_200(IbvRate.IBV_RATE_200_GBPS, 206250, -1),
    /** {@code IBV_RATE_300_GBPS}: 300 Gb/s. */
    GBPS_300(IbvRate.IBV_RATE_300_GBPS, 309375, -1),
    /** {@code IBV_RATE_400_GBPS}: 400 Gb/s. */
    GBPS_400(IbvRate.IBV_RATE_400_GBPS, 425000, 160),
    /** {@code IBV_RATE_600_GBPS}: 600 Gb/s. */
    GBPS_600(IbvRate.IBV_RATE_600_GBPS, 637500, 240),
    /** {@code IBV_RATE_800_GBPS}: 800 Gb/s. */
    GBPS_800(IbvRate.IBV_RATE_800_GBPS, 850000, 320),
    /** {@code IBV_RATE_1200_GBPS}: 1200 Gb/s. */
    GBPS_1200(IbvRate.IBV_RATE_1200_GBPS, 1275000, 480),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1, -1, -1);

    private static final StaticRate[] ALL = values();

    private final int code;
    private final int mbps;
    private final int multiple;

    StaticRate(int code, int mbps, int multiple) {
        this.code = code;
        this.mbps = mbps;
        this.multiple = multiple;
    }

    /** Returns the number that {@code enum ibv_rate} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
    }

    /**
     * Returns the rate in Mb/s on the wire, which is above the rate in the name for links with a 64b/66b code ({@code
     * ibv_rate_to_mbps}); -1 for {@link #MAX} and {@link #UNKNOWN}.
     */
    public int mbps() {
        return mbps;
    }

    /**
     * Returns the rate as a multiple of 2.5 Gb/s ({@code ibv_rate_to_mult}); -1 for rates that are none there, and for
     * {@link #MAX} and {@link #UNKNOWN}.
     */
    public int multiple() {
        return multiple;
    }

    /**
     * Returns the constant with exactly this rate in Mb/s, or {@link #UNKNOWN} if there is none. C's {@code
     * mbps_to_ibv_rate} returns {@link #MAX} then, which is no limit.
     */
    public static StaticRate ofMbps(int mbps) {
        for (StaticRate each : ALL) {
            if (each.mbps == mbps && mbps > 0) {
                return each;
            }
        }
        return UNKNOWN;
    }

    /**
     * Returns the constant with exactly this multiple of 2.5 Gb/s, or {@link #UNKNOWN} if there is none. C's {@code
     * mult_to_ibv_rate} returns {@link #MAX} then, which is no limit.
     */
    public static StaticRate ofMultiple(int multiple) {
        for (StaticRate each : ALL) {
            if (each.multiple == multiple && multiple > 0) {
                return each;
            }
        }
        return UNKNOWN;
    }

    /** Returns the constant whose number is {@code code}, or {@link #UNKNOWN} if there is none; never throws. */
    public static StaticRate of(int code) {
        for (StaticRate each : ALL) {
            if (each.code == code) {
                return each;
            }
        }
        return UNKNOWN;
    }
}
