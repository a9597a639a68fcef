package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvCqEx;
import org.kverbs.internal.abi.IbvCreateCqWcFlags;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.CompletionExtras;

/**
 * Reads the fields beyond {@code struct ibv_wc} of the current completion of a {@code struct ibv_cq_ex}. A driver sets
 * only the function pointers of the fields that the queue was made with.
 */
final class NativeCompletionExtras {

    private final long cq;
    private final int fields;
    private final MemorySegment readTimestamp;
    private final MemorySegment readWallClock;
    private final MemorySegment readCustomerVlan;
    private final MemorySegment readFlowTag;
    private final MemorySegment readTagInfo;

    /** @param fields the {@code wc_flags} that the queue was made with */
    NativeCompletionExtras(long cq, int fields) {
        this.cq = cq;
        this.fields = fields;
        this.readTimestamp = function(IbvCqEx.READ_COMPLETION_TS);
        this.readWallClock = function(IbvCqEx.READ_COMPLETION_WALLCLOCK_NS);
        this.readCustomerVlan = function(IbvCqEx.READ_CVLAN);
        this.readFlowTag = function(IbvCqEx.READ_FLOW_TAG);
        this.readTagInfo = function(IbvCqEx.READ_TM_INFO);
    }

    private MemorySegment function(int offset) {
        return MemorySegment.ofAddress(Memory.getLong(cq + ContextTables.MUTEX_SHIFT + offset));
    }

    private boolean has(int field) {
        return (fields & field) != 0;
    }

    /** Writes the fields of the current completion, which was a success, to {@link CompletionExtras}. */
    void read(long to) {
        if (has(IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)) {
            Memory.putLong(to + CompletionExtras.TIMESTAMP, Downcalls.call(readTimestamp, cq));
        }
        if (has(IbvCreateCqWcFlags.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)) {
            Memory.putLong(to + CompletionExtras.WALL_CLOCK, Downcalls.call(readWallClock, cq));
        }
        if (has(IbvCreateCqWcFlags.IBV_WC_EX_WITH_CVLAN)) {
            // the function returns 16 bits, and the rest of the register is anything
            Memory.putInt(to + CompletionExtras.CUSTOMER_VLAN, (int) Downcalls.call(readCustomerVlan, cq) & 0xffff);
        }
        if (has(IbvCreateCqWcFlags.IBV_WC_EX_WITH_FLOW_TAG)) {
            Memory.putInt(to + CompletionExtras.FLOW_TAG, (int) Downcalls.call(readFlowTag, cq));
        }
        if (has(IbvCreateCqWcFlags.IBV_WC_EX_WITH_TM_INFO)) {
            Downcalls.call(readTagInfo, cq, to + CompletionExtras.TAG_INFO);
        }
    }

    /** Writes zeros for a completion that failed. */
    static void clear(long to) {
        for (int at = 0; at < CompletionExtras.SIZE; at += Long.BYTES) {
            Memory.putLong(to + at, 0);
        }
    }
}
