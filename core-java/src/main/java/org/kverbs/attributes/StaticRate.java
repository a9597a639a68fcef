package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvRate;

/**
 * A limit on the rate at which packets are sent on a path: {@code enum ibv_rate} (IBA volume 1, section 9.11). The
 * codes are not in the order of the rates: 3 is 10 Gb/s and 5 is 5 Gb/s.
 */
public enum StaticRate {
    /** {@code IBV_RATE_MAX}: no limit but the rate of the port. */
    MAX(IbvRate.IBV_RATE_MAX),
    /** {@code IBV_RATE_2_5_GBPS}: 2.5 Gb/s. */
    GBPS_2_5(IbvRate.IBV_RATE_2_5_GBPS),
    /** {@code IBV_RATE_5_GBPS}: 5 Gb/s. */
    GBPS_5(IbvRate.IBV_RATE_5_GBPS),
    /** {@code IBV_RATE_10_GBPS}: 10 Gb/s. */
    GBPS_10(IbvRate.IBV_RATE_10_GBPS),
    /** {@code IBV_RATE_14_GBPS}: 14 Gb/s. */
    GBPS_14(IbvRate.IBV_RATE_14_GBPS),
    /** {@code IBV_RATE_20_GBPS}: 20 Gb/s. */
    GBPS_20(IbvRate.IBV_RATE_20_GBPS),
    /** {@code IBV_RATE_25_GBPS}: 25 Gb/s. */
    GBPS_25(IbvRate.IBV_RATE_25_GBPS),
    /** {@code IBV_RATE_28_GBPS}: 28 Gb/s. */
    GBPS_28(IbvRate.IBV_RATE_28_GBPS),
    /** {@code IBV_RATE_30_GBPS}: 30 Gb/s. */
    GBPS_30(IbvRate.IBV_RATE_30_GBPS),
    /** {@code IBV_RATE_40_GBPS}: 40 Gb/s. */
    GBPS_40(IbvRate.IBV_RATE_40_GBPS),
    /** {@code IBV_RATE_50_GBPS}: 50 Gb/s. */
    GBPS_50(IbvRate.IBV_RATE_50_GBPS),
    /** {@code IBV_RATE_56_GBPS}: 56 Gb/s. */
    GBPS_56(IbvRate.IBV_RATE_56_GBPS),
    /** {@code IBV_RATE_60_GBPS}: 60 Gb/s. */
    GBPS_60(IbvRate.IBV_RATE_60_GBPS),
    /** {@code IBV_RATE_80_GBPS}: 80 Gb/s. */
    GBPS_80(IbvRate.IBV_RATE_80_GBPS),
    /** {@code IBV_RATE_100_GBPS}: 100 Gb/s. */
    GBPS_100(IbvRate.IBV_RATE_100_GBPS),
    /** {@code IBV_RATE_112_GBPS}: 112 Gb/s. */
    GBPS_112(IbvRate.IBV_RATE_112_GBPS),
    /** {@code IBV_RATE_120_GBPS}: 120 Gb/s. */
    GBPS_120(IbvRate.IBV_RATE_120_GBPS),
    /** {@code IBV_RATE_168_GBPS}: 168 Gb/s. */
    GBPS_168(IbvRate.IBV_RATE_168_GBPS),
    /** {@code IBV_RATE_200_GBPS}: 200 Gb/s. */
    GBPS_200(IbvRate.IBV_RATE_200_GBPS),
    /** {@code IBV_RATE_300_GBPS}: 300 Gb/s. */
    GBPS_300(IbvRate.IBV_RATE_300_GBPS),
    /** {@code IBV_RATE_400_GBPS}: 400 Gb/s. */
    GBPS_400(IbvRate.IBV_RATE_400_GBPS),
    /** {@code IBV_RATE_600_GBPS}: 600 Gb/s. */
    GBPS_600(IbvRate.IBV_RATE_600_GBPS),
    /** {@code IBV_RATE_800_GBPS}: 800 Gb/s. */
    GBPS_800(IbvRate.IBV_RATE_800_GBPS),
    /** {@code IBV_RATE_1200_GBPS}: 1200 Gb/s. */
    GBPS_1200(IbvRate.IBV_RATE_1200_GBPS),
    /** A value that this release of kverbs has no name for. C has no such constant. */
    UNKNOWN(-1);

    private static final StaticRate[] ALL = values();

    private final int code;

    StaticRate(int code) {
        this.code = code;
    }

    /** Returns the number that {@code enum ibv_rate} gives this constant; -1 for {@link #UNKNOWN}. */
    public int code() {
        return code;
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
