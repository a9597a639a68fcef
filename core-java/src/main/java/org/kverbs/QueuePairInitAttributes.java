package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;

/**
 * The parameters of a new queue pair ({@code struct ibv_qp_init_attr}).
 *
 * @param type the transport; an XRC_RECV queue pair is made by {@link XrcDomain#queuePair} instead
 * @param sendCq the completion queue of send requests
 * @param recvCq the completion queue of receive requests; unused for XRC_SEND
 * @param srq the shared receive queue that the queue pair takes receives from, or null for a receive queue of its own
 * @param capabilities the sizes of the queues; the device can give more
 * @param signalAll whether every send request that succeeds makes a completion, as if it were signaled ({@code
 *     sq_sig_all})
 * @param extended whether the queue pair is made by {@code ibv_create_qp_ex} and sends are posted by {@code
 *     ibv_wr_start} and related calls. Choose this for a driver that has only these calls or is faster with them. Three
 *     things differ: a list of requests is posted as a whole or not at all, the index of a refused request can be that
 *     of the first, and a device that has not all operations of the type by these calls (Soft-RoCE on UC) refuses
 *     windows, atomics and invalidating sends
 * @param features the operations that only an extended queue pair has: {@link Feature#ATOMIC_WRITE}, {@link
 *     Feature#FLUSH}. A queue pair without the feature refuses the operation
 */
public record QueuePairInitAttributes(
        QueuePairType type,
        CompletionQueue sendCq,
        CompletionQueue recvCq,
        @Nullable SharedReceiveQueue srq,
        QueuePairCapabilities capabilities,
        boolean signalAll,
        boolean extended,
        Set<Feature> features) {

    private static final int DATAGRAMS =
            IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_IMM;
    private static final int CONNECTED = DATAGRAMS
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
    private static final int RELIABLE = CONNECTED | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_RDMA_READ;
    private static final int WINDOWS =
            IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_LOCAL_INV | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_BIND_MW;
    private static final int ATOMICS = IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND_WITH_INV
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP
            | IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

    /**
     * The default sizes: 128 requests in each queue, one buffer each, no inline data. They are small, so that most
     * devices can give them.
     */
    public static final QueuePairCapabilities DEFAULT_CAPABILITIES = new QueuePairCapabilities(128, 128, 1, 1, 0);

    /**
     * Checks the features and copies their set.
     *
     * @throws IllegalArgumentException for a feature that is not an operation of an extended queue pair, or if the
     *     queue pair is not extended, or is of a type that has none of these operations
     */
    public QueuePairInitAttributes {
        features = Set.copyOf(features);
        OptionalOperations.of(features);
        if (!features.isEmpty() && (!extended || type != QueuePairType.RC)) {
            throw new IllegalArgumentException(features + " needs an extended RC queue pair, and this is "
                    + (extended ? "" : "a plain ") + type + ": take RC and asExtended(features)");
        }
    }

    /** Makes the parameters of a queue pair without features of {@link Feature}. */
    public QueuePairInitAttributes(
            QueuePairType type,
            CompletionQueue sendCq,
            CompletionQueue recvCq,
            @Nullable SharedReceiveQueue srq,
            QueuePairCapabilities capabilities,
            boolean signalAll,
            boolean extended) {
        this(type, sendCq, recvCq, srq, capabilities, signalAll, extended, Set.of());
    }

    /** Makes the parameters of a queue pair that is not extended. */
    public QueuePairInitAttributes(
            QueuePairType type,
            CompletionQueue sendCq,
            CompletionQueue recvCq,
            @Nullable SharedReceiveQueue srq,
            QueuePairCapabilities capabilities,
            boolean signalAll) {
        this(type, sendCq, recvCq, srq, capabilities, signalAll, false);
    }

    /** Returns the parameters of a queue pair of default sizes with one completion queue for sends and receives. */
    public static QueuePairInitAttributes of(QueuePairType type, CompletionQueue cq) {
        return new QueuePairInitAttributes(type, cq, cq, null, DEFAULT_CAPABILITIES, false);
    }

    /** Returns a copy with other sizes. */
    public QueuePairInitAttributes with(QueuePairCapabilities newCapabilities) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, srq, newCapabilities, signalAll, extended, features);
    }

    /** Returns a copy that takes receives from a shared queue. */
    public QueuePairInitAttributes with(SharedReceiveQueue newSrq) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, newSrq, capabilities, signalAll, extended, features);
    }

    /**
     * Returns a copy with {@link #extended} set, for the given {@link #features} beside the usual operations.
     *
     * @throws IllegalArgumentException as the constructor
     */
    public QueuePairInitAttributes asExtended(Feature... newFeatures) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, srq, capabilities, signalAll, true, Set.copyOf(List.of(newFeatures)));
    }

    /**
     * Writes {@code struct ibv_qp_init_attr_ex}, which begins with the fields of the plain structure.
     *
     * @param all whether to request every operation of the type; otherwise only sends, writes and reads
     */
    void writeTo(MemorySegment init, long pd, boolean all) {
        writeTo(init);
        int mask = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        init.set(JAVA_INT, IbvQpInitAttrEx.COMP_MASK, mask);
        init.set(JAVA_LONG, IbvQpInitAttrEx.PD, pd);
        init.set(JAVA_LONG, IbvQpInitAttrEx.SEND_OPS_FLAGS, operations(all));
    }

    /** Refuses a type and a shared receive queue that do not fit. */
    void requireFittingReceives() {
        if (type == QueuePairType.XRC_RECV) {
            throw new IllegalArgumentException(
                    "an XRC_RECV queue pair belongs to an XRC domain: call queuePair() of the XrcDomain");
        }
        if (srq != null && type == QueuePairType.XRC_SEND) {
            throw new IllegalArgumentException("an XRC_SEND queue pair receives nothing: leave srq out");
        }
        if (srq != null && srq.tags() != null && type != QueuePairType.RC) {
            throw new IllegalArgumentException(srq.describe() + " serves RC queue pairs only, not " + type);
        }
        if (srq != null && srq.xrcDomain() != null) {
            throw new IllegalArgumentException(srq.describe()
                    + " takes the messages that name it, from the receiving queue pairs of its XRC domain: make a basic"
                    + " shared receive queue for a queue pair of type " + type);
        }
    }

    private int operations(boolean all) {
        int usual = switch (type) {
            case UD -> DATAGRAMS;
            case RAW_PACKET -> IbvQpCreateSendOpsFlags.IBV_QP_EX_WITH_SEND;
            case UC -> CONNECTED | (all ? WINDOWS : 0);
            default -> RELIABLE | (all ? WINDOWS | ATOMICS : 0);
        };
        return usual | OptionalOperations.of(features);
    }

    /** Returns the feature that needs the newest release of rdma-core; there must be one. */
    Feature newestFeature() {
        return Collections.max(features);
    }

    void writeTo(MemorySegment init) {
        init.set(JAVA_LONG, IbvQpInitAttr.SEND_CQ, sendCq.handle());
        init.set(JAVA_LONG, IbvQpInitAttr.RECV_CQ, type == QueuePairType.XRC_SEND ? 0 : recvCq.handle());
        init.set(JAVA_LONG, IbvQpInitAttr.SRQ, srq == null ? 0 : srq.handle());
        Structures.CAPABILITIES.write(capabilities, init.asSlice(IbvQpInitAttr.CAP));
        if (type == QueuePairType.XRC_SEND) { // libibverbs sets these to 0 as well
            init.set(JAVA_INT, IbvQpInitAttr.CAP_MAX_RECV_WR, 0);
            init.set(JAVA_INT, IbvQpInitAttr.CAP_MAX_RECV_SGE, 0);
        }
        init.set(JAVA_INT, IbvQpInitAttr.QP_TYPE, type.code());
        init.set(JAVA_INT, IbvQpInitAttr.SQ_SIG_ALL, signalAll ? 1 : 0);
    }

    /** Returns the type, the sizes, and the features if there are any. */
    @Override
    public String toString() {
        return type + ", " + capabilities + (features.isEmpty() ? "" : ", features=" + EnumSet.copyOf(features));
    }
}
