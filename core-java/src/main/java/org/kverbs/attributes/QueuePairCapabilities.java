package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvQpCap;
import org.kverbs.internal.values.Ranges;
import org.kverbs.internal.values.Structure;

/**
 * The sizes of a queue pair: {@code struct ibv_qp_cap} (ibv_create_qp(3)). The sizes asked for at creation are minima;
 * the device can give more.
 *
 * @param maxSendWr how many send requests may be outstanding
 * @param maxRecvWr how many receives may be outstanding; has no meaning with a shared receive queue
 * @param maxSendSge how many buffers a send request may gather
 * @param maxRecvSge how many buffers a receive may scatter to; has no meaning with a shared receive queue
 * @param maxInlineData how many bytes a request may carry inline, copied into the request
 */
public record QueuePairCapabilities(int maxSendWr, int maxRecvWr, int maxSendSge, int maxRecvSge, int maxInlineData) {

    static {
        Structure.offer(QueuePairCapabilities.class, QueuePairCapabilities::from, QueuePairCapabilities::writeTo);
    }

    /**
     * Checks the sizes.
     *
     * @throws IllegalArgumentException if one is negative
     */
    public QueuePairCapabilities {
        Ranges.require("max send work requests", maxSendWr, 0, Integer.MAX_VALUE);
        Ranges.require("max receive work requests", maxRecvWr, 0, Integer.MAX_VALUE);
        Ranges.require("max send scatter/gather entries", maxSendSge, 0, Integer.MAX_VALUE);
        Ranges.require("max receive scatter/gather entries", maxRecvSge, 0, Integer.MAX_VALUE);
        Ranges.require("max inline data", maxInlineData, 0, Integer.MAX_VALUE);
    }

    /** Reads the C structure at the start of {@code segment}. A size above 2^31-1 becomes 2^31-1. */
    static QueuePairCapabilities from(MemorySegment segment) {
        return new QueuePairCapabilities(
                size(segment, IbvQpCap.MAX_SEND_WR),
                size(segment, IbvQpCap.MAX_RECV_WR),
                size(segment, IbvQpCap.MAX_SEND_SGE),
                size(segment, IbvQpCap.MAX_RECV_SGE),
                size(segment, IbvQpCap.MAX_INLINE_DATA));
    }

    private static int size(MemorySegment segment, int offset) {
        return (int) Math.min(Integer.toUnsignedLong(segment.get(JAVA_INT, offset)), Integer.MAX_VALUE);
    }

    /** Writes the whole C structure at the start of {@code segment}. */
    void writeTo(MemorySegment segment) {
        segment.set(JAVA_INT, IbvQpCap.MAX_SEND_WR, maxSendWr);
        segment.set(JAVA_INT, IbvQpCap.MAX_RECV_WR, maxRecvWr);
        segment.set(JAVA_INT, IbvQpCap.MAX_SEND_SGE, maxSendSge);
        segment.set(JAVA_INT, IbvQpCap.MAX_RECV_SGE, maxRecvSge);
        segment.set(JAVA_INT, IbvQpCap.MAX_INLINE_DATA, maxInlineData);
    }
}
