package org.kverbs.mlx5;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import org.kverbs.mlx5.internal.abi.Mlx5dvContext;
import org.kverbs.mlx5.internal.abi.Mlx5dvContextCompMask;
import org.kverbs.mlx5.internal.abi.Mlx5dvContextFlags;

/**
 * What an mlx5 device says of itself ({@code struct mlx5dv_context}, {@code man 3 mlx5dv_query_device}): the parts that
 * concern DC and completions. A field that the driver does not know, as an older one, is 0 or empty.
 *
 * @param flags {@code enum mlx5dv_context_flags}, a mask
 * @param maxCompressed how many completions the device compresses into one at most; 0 if it compresses none
 * @param compressionFormats what compressed completions can keep
 * @param dcOnDemandPaging the operations of DC that can use memory paged on demand, bits of {@code enum
 *     ibv_odp_transport_cap_bits}
 * @param lagPorts the number of ports of a link aggregation; 0 or 1 for none
 * @param dciStreamsLog the binary logarithm of the number of streams that a DC initiator can have; 0 for one stream
 * @param dciErroredStreamsLog the binary logarithm of the number of streams that can fail before the initiator does
 */
public record Mlx5Attributes(
        long flags,
        int maxCompressed,
        Set<CqeFormat> compressionFormats,
        int dcOnDemandPaging,
        int lagPorts,
        int dciStreamsLog,
        int dciErroredStreamsLog) {

    /** The parts that are asked for. A driver clears the bits of those that it does not know. */
    static final long ASKED = Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_CQE_COMPRESION
            | Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_DC_ODP_CAPS
            | Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS
            | Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_DCI_STREAMS;

    /** Copies the set of formats. */
    public Mlx5Attributes {
        compressionFormats = Set.copyOf(compressionFormats);
    }

    static Mlx5Attributes read(MemorySegment answer) {
        long mask = answer.get(JAVA_LONG, Mlx5dvContext.COMP_MASK);
        boolean compresses = (mask & Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_CQE_COMPRESION) != 0;
        boolean pages = (mask & Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_DC_ODP_CAPS) != 0;
        boolean aggregates = (mask & Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS) != 0;
        boolean streams = (mask & Mlx5dvContextCompMask.MLX5DV_CONTEXT_MASK_DCI_STREAMS) != 0;
        return new Mlx5Attributes(
                answer.get(JAVA_LONG, Mlx5dvContext.FLAGS),
                compresses ? answer.get(JAVA_INT, Mlx5dvContext.CQE_COMP_CAPS_MAX_NUM) : 0,
                CqeFormat.of(compresses ? answer.get(JAVA_INT, Mlx5dvContext.CQE_COMP_CAPS_SUPPORTED_FORMAT) : 0),
                pages ? answer.get(JAVA_INT, Mlx5dvContext.DC_ODP_CAPS) : 0,
                aggregates ? byteAt(answer, Mlx5dvContext.NUM_LAG_PORTS) : 0,
                streams ? byteAt(answer, Mlx5dvContext.DCI_STREAMS_CAPS_MAX_LOG_NUM_CONCURENT) : 0,
                streams ? byteAt(answer, Mlx5dvContext.DCI_STREAMS_CAPS_MAX_LOG_NUM_ERRORED) : 0);
    }

    private static int byteAt(MemorySegment answer, int offset) {
        return Byte.toUnsignedInt(answer.get(JAVA_BYTE, offset));
    }

    private boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /** Returns whether the device compresses completions of 128 bytes, too. */
    public boolean compressesLarge() {
        return has(Mlx5dvContextFlags.MLX5DV_CONTEXT_FLAGS_CQE_128B_COMP);
    }

    /** Returns whether the device can fill completions of 128 bytes to a whole cache line. */
    public boolean hasPadding() {
        return has(Mlx5dvContextFlags.MLX5DV_CONTEXT_FLAGS_CQE_128B_PAD);
    }

    /** Returns whether completion timestamps count the nanoseconds of real time, not ticks of the device's clock. */
    public boolean hasRealTimeStamps() {
        return has(Mlx5dvContextFlags.MLX5DV_CONTEXT_FLAGS_REAL_TIME_TS);
    }
}
