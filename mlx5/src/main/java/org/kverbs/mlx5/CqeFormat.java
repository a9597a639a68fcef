package org.kverbs.mlx5;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.kverbs.mlx5.internal.abi.Mlx5dvCqeCompResFormat;

/**
 * What a compressed completion keeps of each message beside its length: {@code enum mlx5dv_cqe_comp_res_format}.
 * Source: {@code man 3 mlx5dv_create_cq}.
 */
public enum CqeFormat {
    /** {@code MLX5DV_CQE_RES_FORMAT_HASH}: the hash of receive-side scaling. */
    HASH(Mlx5dvCqeCompResFormat.MLX5DV_CQE_RES_FORMAT_HASH),
    /** {@code MLX5DV_CQE_RES_FORMAT_CSUM}: the checksum. */
    CHECKSUM(Mlx5dvCqeCompResFormat.MLX5DV_CQE_RES_FORMAT_CSUM),
    /** {@code MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX}: the checksum, and the stride of a striding receive queue. */
    CHECKSUM_AND_STRIDE(Mlx5dvCqeCompResFormat.MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX);

    private final int bit;

    CqeFormat(int bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in the C enum. */
    public int bit() {
        return bit;
    }

    /** Returns the constants whose bit is in {@code mask}, unmodifiable. Ignores bits that have no name. */
    public static Set<CqeFormat> of(int mask) {
        EnumSet<CqeFormat> set = EnumSet.noneOf(CqeFormat.class);
        for (CqeFormat each : values()) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return Collections.unmodifiableSet(set);
    }
}
