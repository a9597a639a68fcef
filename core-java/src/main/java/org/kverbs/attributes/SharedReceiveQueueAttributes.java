package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvSrqAttr;
import org.kverbs.internal.values.Ranges;
import org.kverbs.internal.values.Structure;

/**
 * The sizes of a shared receive queue ({@code struct ibv_srq_attr}).
 *
 * @param maxWr the number of receive requests that the queue has room for
 * @param maxSge how many buffers a receive may scatter to
 * @param limit the device raises SRQ_LIMIT_REACHED once when fewer receives than this are left; 0 for never
 */
public record SharedReceiveQueueAttributes(int maxWr, int maxSge, int limit) {

    static {
        Structure.offer(
                SharedReceiveQueueAttributes.class,
                SharedReceiveQueueAttributes::from,
                SharedReceiveQueueAttributes::writeTo);
    }

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException if one is negative; the message names it
     */
    public SharedReceiveQueueAttributes {
        Ranges.require("maxWr", maxWr, 0, Integer.MAX_VALUE);
        Ranges.require("maxSge", maxSge, 0, Integer.MAX_VALUE);
        Ranges.require("limit", limit, 0, Integer.MAX_VALUE);
    }

    /** Returns the sizes of a queue without a limit. */
    public static SharedReceiveQueueAttributes of(int maxWr, int maxSge) {
        return new SharedReceiveQueueAttributes(maxWr, maxSge, 0);
    }

    static SharedReceiveQueueAttributes from(MemorySegment attributes) {
        return new SharedReceiveQueueAttributes(
                attributes.get(JAVA_INT, IbvSrqAttr.MAX_WR),
                attributes.get(JAVA_INT, IbvSrqAttr.MAX_SGE),
                attributes.get(JAVA_INT, IbvSrqAttr.SRQ_LIMIT));
    }

    void writeTo(MemorySegment attributes) {
        attributes.set(JAVA_INT, IbvSrqAttr.MAX_WR, maxWr);
        attributes.set(JAVA_INT, IbvSrqAttr.MAX_SGE, maxSge);
        attributes.set(JAVA_INT, IbvSrqAttr.SRQ_LIMIT, limit);
    }
}
