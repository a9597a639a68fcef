package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvAccessFlags;

/**
 * A right of access to registered memory, to a memory window or through a queue pair: {@code enum ibv_access_flags}
 * (ibv_reg_mr(3)). Local reading is always allowed. A memory region with {@link #REMOTE_WRITE} or {@link
 * #REMOTE_ATOMIC} needs {@link #LOCAL_WRITE} too.
 */
public enum AccessFlag {
    /**
     * {@code IBV_ACCESS_LOCAL_WRITE}: the local device may write into the memory: received messages, and the results of
     * reads and atomics.
     */
    LOCAL_WRITE(IbvAccessFlags.IBV_ACCESS_LOCAL_WRITE),
    /** {@code IBV_ACCESS_REMOTE_WRITE}: a peer may write. */
    REMOTE_WRITE(IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE),
    /** {@code IBV_ACCESS_REMOTE_READ}: a peer may read. */
    REMOTE_READ(IbvAccessFlags.IBV_ACCESS_REMOTE_READ),
    /** {@code IBV_ACCESS_REMOTE_ATOMIC}: a peer may use atomic operations. */
    REMOTE_ATOMIC(IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC),
    /** {@code IBV_ACCESS_MW_BIND}: memory windows may be bound to the memory. */
    MW_BIND(IbvAccessFlags.IBV_ACCESS_MW_BIND),
    /**
     * {@code IBV_ACCESS_ZERO_BASED}: addresses count from 0 at the start of the region, not from its virtual address.
     */
    ZERO_BASED(IbvAccessFlags.IBV_ACCESS_ZERO_BASED),
    /**
     * {@code IBV_ACCESS_ON_DEMAND}: pages are not pinned; the device faults them in when it needs them (on-demand
     * paging).
     */
    ON_DEMAND(IbvAccessFlags.IBV_ACCESS_ON_DEMAND),
    /** {@code IBV_ACCESS_HUGETLB}: the memory is in huge pages (with ON_DEMAND). */
    HUGETLB(IbvAccessFlags.IBV_ACCESS_HUGETLB),
    /** {@code IBV_ACCESS_FLUSH_GLOBAL}: a peer may flush its writes until every reader sees them (rdma-core 45). */
    FLUSH_GLOBAL(1 << 8),
    /** {@code IBV_ACCESS_FLUSH_PERSISTENT}: a peer may flush its writes to persistent memory (rdma-core 45). */
    FLUSH_PERSISTENT(1 << 9),
    /**
     * {@code IBV_ACCESS_RELAXED_ORDERING}: the device may reorder its accesses on the bus. A device that does not know
     * the flag ignores it.
     */
    RELAXED_ORDERING(IbvAccessFlags.IBV_ACCESS_RELAXED_ORDERING);

    private static final AccessFlag[] ALL = values();

    private final int bit;

    AccessFlag(int bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_access_flags}. */
    public int bit() {
        return bit;
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static int mask(AccessFlag... flags) {
        return mask(List.of(flags));
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static int mask(Collection<AccessFlag> flags) {
        int mask = 0;
        for (AccessFlag flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
    public static EnumSet<AccessFlag> of(int mask) {
        EnumSet<AccessFlag> set = EnumSet.noneOf(AccessFlag.class);
        for (AccessFlag each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
