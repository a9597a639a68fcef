package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.kverbs.attributes.Ece;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.RateLimit;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEce;
import org.kverbs.internal.abi.IbvQpRateLimitAttr;
import org.kverbs.spi.EceVerbs;

/** Calls of a queue pair for what few devices have: the vendor's options, and the limit of the sending rate. */
final class QueuePairTuning {

    private QueuePairTuning() {}

    /** See {@link QueuePair#queryEce}. */
    static Ece queryEce(QueuePair qp) {
        try (Arena arena = Arena.ofConfined()) {
            return call(qp, "ibv_query_ece(" + qp.describe() + ")", arena.allocate(IbvEce.SIZE, JAVA_LONG.byteSize()),
                    EceVerbs::queryEce);
        }
    }

    /** See {@link QueuePair#setEce}. */
    static Ece setEce(QueuePair qp, Ece ece) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment structure = arena.allocate(IbvEce.SIZE, JAVA_LONG.byteSize());
            Structures.ECE.write(ece, structure);
            return call(qp, "ibv_set_ece(" + qp.describe() + ", " + ece + ")", structure, EceVerbs::setEce);
        }
    }

    private interface EceCall {
        int on(EceVerbs verbs, long qp, MemorySegment ece);
    }

    private static Ece call(QueuePair qp, String operation, MemorySegment ece, EceCall call) {
        Context context = qp.protectionDomain().context();
        qp.command(
                errno -> context.refusal(Feature.ECE, operation, errno),
                () -> call.on(context.verbs.ece(), qp.handle(), ece));
        return Structures.ECE.read(ece);
    }

    private static RdmaSystemException refusal(Context context, String operation, int errno) {
        RdmaSystemException usual = context.refusal(Feature.RATE_LIMIT, operation, errno);
        if (usual instanceof UnsupportedVerbException || errno != Errno.EINVAL) {
            return usual;
        }
        return new RdmaSystemException(operation, errno, "The queue pair is not in RTS, the rate is outside "
                + "DeviceAttributesEx.packetPacing, or the device takes no burst or packet size. "
                + "The driver bnxt_re takes neither, limits a queue pair only in "
                + "RTR and RTS, and cannot end a limit: set the highest rate instead of RateLimit.NONE.");
    }

    /** See {@link QueuePair#limitRate}. */
    static void limitRate(QueuePair qp, RateLimit limit) {
        Context context = qp.protectionDomain().context();
        String operation = "ibv_modify_qp_rate_limit(" + qp.describe() + ", " + limit + ")";
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment attributes = arena.allocate(IbvQpRateLimitAttr.SIZE, JAVA_LONG.byteSize());
            Structures.RATE_LIMIT.write(limit, attributes);
            qp.command(
                    errno -> refusal(context, operation, errno),
                    () -> context.verbs.pacing().modifyRateLimit(qp.handle(), attributes));
        }
    }
}
