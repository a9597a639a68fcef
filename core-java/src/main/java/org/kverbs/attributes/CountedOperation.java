package org.kverbs.attributes;

import java.util.EnumSet;
import java.util.Set;

/** The operations of a queue pair that a completion counter counts: {@code enum ibv_qp_attach_comp_cntr_op}. */
public enum CountedOperation {
    /** Sends of this side. */
    SEND(1),
    /** Receives of this side. */
    RECEIVE(1 << 1),
    /** RDMA reads of this side. */
    RDMA_READ(1 << 2),
    /** RDMA reads of the peer. */
    REMOTE_RDMA_READ(1 << 3),
    /** RDMA writes of this side. */
    RDMA_WRITE(1 << 4),
    /** RDMA writes of the peer. */
    REMOTE_RDMA_WRITE(1 << 5);

    private final int bit;

    CountedOperation(int bit) {
        this.bit = bit;
    }

    /** Returns the bit of the operation in C. */
    public int bit() {
        return bit;
    }

    /** Returns the operations whose bits are set; bits without a name are left out. */
    public static Set<CountedOperation> of(int mask) {
        var found = EnumSet.noneOf(CountedOperation.class);
        for (CountedOperation each : values()) {
            if ((mask & each.bit) != 0) {
                found.add(each);
            }
        }
        return found;
    }
}
