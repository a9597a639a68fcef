package org.kverbs.embedded.internal.transport;

import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.DeviceLimits;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.objects.TagMatcher;
import org.kverbs.embedded.internal.objects.XrcDomain;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.memory.Memory;

/**
 * Holds the checked fields of a {@code struct ibv_qp_init_attr}.
 *
 * @param pd the protection domain; one without memory for an XRC_RECV queue pair
 * @param sendCq the completion queue of sends; null for an XRC_RECV queue pair, and with {@code spread}
 * @param recvCq the completion queue of receives; null for both types of XRC, and with {@code spread}
 * @param domain the XRC domain of an XRC_RECV queue pair; null for any other
 * @param spread what a queue pair with an indirection table has in place of queues; null for any other
 */
public record QpInit(
        Pd pd,
        int type,
        @Nullable Cq sendCq,
        @Nullable Cq recvCq,
        @Nullable Srq srq,
        @Nullable XrcDomain domain,
        @Nullable Spread spread,
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
        int type = Memory.getInt(at + IbvQpInitAttr.QP_TYPE);
        // The kernel ignores what an XRC_SEND queue pair is given for receives.
        boolean receiving = type != IbvQpType.IBV_QPT_XRC_SEND;
        Cq receive = receiving ? queues.apply(Memory.getLong(at + IbvQpInitAttr.RECV_CQ)) : null;
        long shared = receiving ? Memory.getLong(at + IbvQpInitAttr.SRQ) : 0;
        Srq srq = sharedQueues.apply(shared);
        TagMatcher tags = TagMatcher.of(srq);
        boolean isWrongShared = shared != 0
                && (srq == null || srq.xrc != null || tags != null && type != IbvQpType.IBV_QPT_RC);
        if (pd == null || send == null || receiving && receive == null || isWrongShared || !isOffered(type)) {
            return null;
        }
        int sends = Memory.getInt(at + IbvQpInitAttr.CAP_MAX_SEND_WR);
        boolean own = receiving && srq == null;
        int receives = own ? Memory.getInt(at + IbvQpInitAttr.CAP_MAX_RECV_WR) : 0;
        int sendEntries = Memory.getInt(at + IbvQpInitAttr.CAP_MAX_SEND_SGE);
        int receiveEntries = own ? Memory.getInt(at + IbvQpInitAttr.CAP_MAX_RECV_SGE) : 0;
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
                ? new QpInit(pd, type, send, tags == null ? receive : tags.cq, srq, null, null, sends, receives,
                        sendEntries, receiveEntries, inline, signalsAll)
                : null;
    }

    /** Makes the fields of an XRC_RECV queue pair: it has no queues. */
    public static QpInit ofXrcReceiver(XrcDomain domain) {
        return new QpInit(new Pd(0), IbvQpType.IBV_QPT_XRC_RECV, null, null, null, domain, null, 0, 0, 0, 0, 0, false);
    }

    /** Makes the fields of a queue pair with an indirection table: it has no queues. */
    public static QpInit ofSpread(Pd pd, Spread spread) {
        return new QpInit(
                pd, IbvQpType.IBV_QPT_RAW_PACKET, null, null, null, null, spread, 0, 0, 0, 0, 0, false);
    }

    private static boolean isOffered(int type) {
        return switch (type) {
            case IbvQpType.IBV_QPT_RC,
                    IbvQpType.IBV_QPT_UC,
                    IbvQpType.IBV_QPT_UD,
                    IbvQpType.IBV_QPT_XRC_SEND,
                    IbvQpType.IBV_QPT_RAW_PACKET -> true;
            default -> false;
        };
    }

    private static boolean isWithin(int asked, int most) {
        return asked >= 0 && asked <= most;
    }

    /** Counts the queue pair as a user of its domain, shared receive queue and indirection table, or uncounts it. */
    public void countUsers(int more) {
        pd.users += more;
        if (srq != null) {
            srq.users += more;
        }
        if (spread != null) {
            spread.table.users += more;
        }
    }
}
