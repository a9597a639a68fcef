package org.kverbs.embedded.internal.transport;

import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.memory.Memory;

/** Holds the checked fields of a {@code struct ibv_qp_init_attr}. */
public record QpInit(
        Pd pd,
        int type,
        Cq sendCq,
        Cq recvCq,
        @Nullable Srq srq,
        int maxSendWr,
        int maxRecvWr,
        int maxSendSge,
        int maxRecvSge,
        int maxInline,
        boolean signalsAll) {

    /** Reads the structure; returns null if a field is not valid. */
    public static @Nullable QpInit read(
            long at,
            @Nullable Pd pd,
            LongFunction<@Nullable Cq> queues,
            LongFunction<@Nullable Srq> sharedQueues,
            DeviceLimits limits) {
        Cq send = queues.apply(Memory.getLong(at + IbvQpInitAttr.SEND_CQ));
        Cq receive = queues.apply(Memory.getLong(at + IbvQpInitAttr.RECV_CQ));
        long shared = Memory.getLong(at + IbvQpInitAttr.SRQ);
        Srq srq = sharedQueues.apply(shared);
        int type = Memory.getInt(at + IbvQpInitAttr.QP_TYPE);
        if (pd == null || send == null || receive == null || shared != 0 && srq == null
                || !isOffered(type)) {
            return null;
        }
        int sends = Memory.getInt(at + IbvQpInitAttr.CAP_MAX_SEND_WR);
        int receives = srq == null ? Memory.getInt(at + IbvQpInitAttr.CAP_MAX_RECV_WR) : 0;
        int sendEntries = Memory.getInt(at + IbvQpInitAttr.CAP_MAX_SEND_SGE);
        int receiveEntries = srq == null ? Memory.getInt(at + IbvQpInitAttr.CAP_MAX_RECV_SGE) : 0;
        int inline = Memory.getInt(at + IbvQpInitAttr.CAP_MAX_INLINE_DATA);
        boolean fits = isWithin(sends, limits.workRequests())
                && isWithin(receives, limits.workRequests())
                && isWithin(sendEntries, limits.entries())
                && isWithin(receiveEntries, limits.entries());
        if (fits && !isWithin(inline, limits.inlineBytes())) {
            // The caller compares refused values with the device's attributes, which do not have this limit.
            Refusal.because(
                    Errno.EINVAL,
                    "max_inline_data %s is above the device's limit of %d."
                            .formatted(Integer.toUnsignedString(inline), limits.inlineBytes()));
            return null;
        }
        boolean signalsAll = Memory.getInt(at + IbvQpInitAttr.SQ_SIG_ALL) != 0;
        return fits
                ? new QpInit(pd, type, send, receive, srq, sends, receives, sendEntries, receiveEntries, inline,
                        signalsAll)
                : null;
    }

    private static boolean isOffered(int type) {
        return type == IbvQpType.IBV_QPT_RC
                || type == IbvQpType.IBV_QPT_UC
                || type == IbvQpType.IBV_QPT_UD
                || type == IbvQpType.IBV_QPT_RAW_PACKET;
    }

    private static boolean isWithin(int asked, int most) {
        return asked >= 0 && asked <= most;
    }

    /** Counts the queue pair as a user of its domain and shared receive queue, or uncounts it. */
    public void countUsers(int more) {
        pd.users += more;
        if (srq != null) {
            srq.users += more;
        }
    }
}
