package org.kverbs.attributes;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvEce;
import org.kverbs.internal.values.Structure;

/**
 * The data of enhanced connection establishment: abilities that two adapters of one vendor exchange while they connect,
 * {@code struct ibv_ece} (rdma_set_local_ece(3), ibv_query_ece(3), ibv_set_ece(3)). Immutable.
 *
 * @param vendorId the number that the IEEE gave the vendor, 24 bits; 0 from a peer that offers nothing
 * @param options bits whose meaning the vendor defines
 * @param mask names further valid fields; none is defined yet
 */
public record Ece(int vendorId, int options, int mask) {

    static {
        Structure.offer(Ece.class, Ece::from, Ece::writeTo);
    }

    /** Reads the C structure at the start of a segment. */
    static Ece from(MemorySegment segment) {
        return new Ece(
                segment.get(JAVA_INT, IbvEce.VENDOR_ID),
                segment.get(JAVA_INT, IbvEce.OPTIONS),
                segment.get(JAVA_INT, IbvEce.COMP_MASK));
    }

    /** Writes the C structure at the start of a segment. */
    void writeTo(MemorySegment segment) {
        segment.set(JAVA_INT, IbvEce.VENDOR_ID, vendorId);
        segment.set(JAVA_INT, IbvEce.OPTIONS, options);
        segment.set(JAVA_INT, IbvEce.COMP_MASK, mask);
    }
}
