package org.kverbs.cm;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvEce;

/**
 * Enhanced connection establishment: what two adapters of one vendor tell each other about their abilities while they
 * are connected, {@code struct ibv_ece} (rdma_set_local_ece(3), ibv_query_ece(3)).
 *
 * @param vendorId the vendor's number by the IEEE, 24 bits; 0 from a peer that offers nothing
 * @param options the vendor's own bits
 * @param mask which fields behind these count; none is defined yet
 */
public record Ece(int vendorId, int options, int mask) {

    /** Reads the C structure at the start of a segment. */
    static Ece from(MemorySegment segment) {
        return new Ece(
                segment.get(JAVA_INT, IbvEce.VENDOR_ID),
                segment.get(JAVA_INT, IbvEce.OPTIONS),
                segment.get(JAVA_INT, IbvEce.COMP_MASK));
    }

    /** Writes it there. */
    void writeTo(MemorySegment segment) {
        segment.set(JAVA_INT, IbvEce.VENDOR_ID, vendorId);
        segment.set(JAVA_INT, IbvEce.OPTIONS, options);
        segment.set(JAVA_INT, IbvEce.COMP_MASK, mask);
    }
}
