package org.kverbs.mlx5;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.mlx5.internal.abi.Mlx5dvCqInitAttr;
import org.kverbs.mlx5.internal.abi.Mlx5dvCqInitAttrFlags;
import org.kverbs.mlx5.internal.abi.Mlx5dvCqInitAttrMask;

/**
 * What only {@code mlx5dv_create_cq} can give a completion queue ({@code struct mlx5dv_cq_init_attr}). Immutable.
 *
 * @param compression what compressed completions keep, or null for completions that are not compressed; one of {@link
 *     Mlx5Attributes#compressionFormats}
 * @param size how many bytes a completion has in the queue: 64 or 128, or 0 for the driver's own choice
 * @param padded whether the device fills each completion of 128 bytes to a whole cache line ({@code
 *     MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD}); see {@link Mlx5Attributes#hasPadding}
 */
public record CqeOptions(@Nullable CqeFormat compression, int size, boolean padded) {

    /** No option: the driver's own choice of all. */
    public static final CqeOptions NONE = new CqeOptions(null, 0, false);

    /**
     * Checks the size.
     *
     * @throws IllegalArgumentException for another size than 0, 64 and 128
     */
    public CqeOptions {
        if (size != 0 && size != 64 && size != 128) {
            throw new IllegalArgumentException("size=" + size + " is not a size of completions: take 64 or 128, or 0");
        }
    }

    /** Returns a copy whose completions are compressed. */
    public CqeOptions compressed(CqeFormat format) {
        return new CqeOptions(format, size, padded);
    }

    /** Returns a copy with another size of completions. */
    public CqeOptions ofSize(int newSize) {
        return new CqeOptions(compression, newSize, padded);
    }

    /** Returns a copy with {@link #padded} set. */
    public CqeOptions withPadding() {
        return new CqeOptions(compression, size, true);
    }

    /** Writes {@code struct mlx5dv_cq_init_attr}. */
    void writeTo(MemorySegment init) {
        long mask = 0;
        if (compression != null) {
            mask |= Mlx5dvCqInitAttrMask.MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE;
            init.set(JAVA_BYTE, Mlx5dvCqInitAttr.CQE_COMP_RES_FORMAT, (byte) compression.bit());
        }
        if (padded) {
            mask |= Mlx5dvCqInitAttrMask.MLX5DV_CQ_INIT_ATTR_MASK_FLAGS;
            init.set(JAVA_INT, Mlx5dvCqInitAttr.FLAGS, Mlx5dvCqInitAttrFlags.MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD);
        }
        if (size != 0) {
            mask |= Mlx5dvCqInitAttrMask.MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
            init.set(JAVA_SHORT, Mlx5dvCqInitAttr.CQE_SIZE, (short) size);
        }
        init.set(JAVA_LONG, Mlx5dvCqInitAttr.COMP_MASK, mask);
    }
}
