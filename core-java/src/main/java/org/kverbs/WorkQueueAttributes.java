package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import org.kverbs.attributes.WorkQueueFlag;
import org.kverbs.internal.abi.IbvWqInitAttr;
import org.kverbs.internal.abi.IbvWqInitAttrMask;
import org.kverbs.internal.abi.IbvWqType;
import org.kverbs.internal.values.Ranges;

/**
 * The parameters of a new work queue ({@code struct ibv_wq_init_attr}).
 *
 * @param cq the completion queue of its receives
 * @param maxWr the number of receive requests that the queue has room for; the device can give more
 * @param maxSge how many buffers a receive may scatter to; the device can give more
 * @param flags what the device does with received frames
 */
public record WorkQueueAttributes(CompletionQueue cq, int maxWr, int maxSge, Set<WorkQueueFlag> flags) {

    /**
     * Checks the numbers, and copies the flags.
     *
     * @throws IllegalArgumentException if a number is negative; the message names it
     */
    public WorkQueueAttributes {
        Ranges.require("maxWr", maxWr, 0, Integer.MAX_VALUE);
        Ranges.require("maxSge", maxSge, 0, Integer.MAX_VALUE);
        flags = Set.copyOf(flags);
    }

    /** Returns the parameters of a queue for 128 receives of one buffer each, without flags. */
    public static WorkQueueAttributes of(CompletionQueue cq) {
        return of(cq, 128);
    }

    /** Returns the parameters of a queue for {@code maxWr} receives of one buffer each, without flags. */
    public static WorkQueueAttributes of(CompletionQueue cq, int maxWr) {
        return new WorkQueueAttributes(cq, maxWr, 1, Set.of());
    }

    /** Returns a copy with these flags alone. */
    public WorkQueueAttributes with(WorkQueueFlag... newFlags) {
        return new WorkQueueAttributes(cq, maxWr, maxSge, Set.copyOf(List.of(newFlags)));
    }

    void writeTo(MemorySegment init, long pd) {
        init.set(JAVA_INT, IbvWqInitAttr.WQ_TYPE, IbvWqType.IBV_WQT_RQ);
        init.set(JAVA_INT, IbvWqInitAttr.MAX_WR, maxWr);
        init.set(JAVA_INT, IbvWqInitAttr.MAX_SGE, maxSge);
        init.set(JAVA_LONG, IbvWqInitAttr.PD, pd);
        init.set(JAVA_LONG, IbvWqInitAttr.CQ, cq.handle());
        if (!flags.isEmpty()) { // a driver without flags refuses the bit of the mask
            init.set(JAVA_INT, IbvWqInitAttr.COMP_MASK, IbvWqInitAttrMask.IBV_WQ_INIT_ATTR_FLAGS);
            init.set(JAVA_INT, IbvWqInitAttr.CREATE_FLAGS, WorkQueueFlag.mask(flags));
        }
    }

    /** Returns the sizes that the device gave. */
    WorkQueueAttributes given(MemorySegment init) {
        return new WorkQueueAttributes(
                cq, init.get(JAVA_INT, IbvWqInitAttr.MAX_WR), init.get(JAVA_INT, IbvWqInitAttr.MAX_SGE), flags);
    }

    /** Returns the sizes, and the flags if there are any. */
    @Override
    public String toString() {
        return "max_wr=" + maxWr + ", max_sge=" + maxSge + (flags.isEmpty() ? "" : ", flags=" + flags);
    }
}
