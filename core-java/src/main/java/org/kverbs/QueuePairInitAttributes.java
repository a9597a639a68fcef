package org.kverbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.Feature;
import org.kverbs.attributes.QueuePairCapabilities;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.attributes.RxHash;
import org.kverbs.attributes.RxHashField;
import org.kverbs.internal.SegmentedSend;
import org.kverbs.internal.Structures;
import org.kverbs.internal.abi.IbvQpCreateSendOpsFlags;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpInitAttrEx;
import org.kverbs.internal.abi.IbvQpInitAttrMask;
import org.kverbs.internal.values.Ranges;

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
 * @param indirectionTable the work queues that received frames are spread over, or null. A queue pair with a table has
 *     no receive queue, and the drivers give it no send queue, so that its completion queues are unused: see {@link
 *     #spreading}
 * @param rxHash how a frame is hashed to choose a work queue of the table; null without a table
 * @param maxTsoHeader the longest header of {@link SendRequests#sendSegmented}, in bytes; 0 if the queue pair segments
 *     nothing. Above 0, the queue pair is made by {@code ibv_create_qp_ex} even if its sends are posted by the plain
 *     call. RAW_PACKET and UD only
 */
public record QueuePairInitAttributes(
        QueuePairType type,
        CompletionQueue sendCq,
        CompletionQueue recvCq,
        @Nullable SharedReceiveQueue srq,
        QueuePairCapabilities capabilities,
        boolean signalAll,
        boolean extended,
        Set<Feature> features,
        @Nullable ReceiveIndirectionTable indirectionTable,
        @Nullable RxHash rxHash,
        int maxTsoHeader) {

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

    /** The sizes of a queue pair with an indirection table: it has no queue of its own. */
    private static final QueuePairCapabilities NO_QUEUES = new QueuePairCapabilities(0, 0, 0, 0, 0);

    /**
     * Checks the features and copies their set.
     *
     * @throws IllegalArgumentException for a feature that is not an operation of an extended queue pair, or if the
     *     queue pair is not extended, or is of a type that has none of these operations; for a table without a hash, a
     *     hash without a table, or a table beside a receive queue, a shared one, or the extended calls; for a
     *     maxTsoHeader out of range, of another type than RAW_PACKET or UD, or beside a table
     */
    public QueuePairInitAttributes {
        features = Set.copyOf(features);
        OptionalOperations.of(features);
        if (!features.isEmpty() && (!extended || type != QueuePairType.RC)) {
            throw new IllegalArgumentException(features + " needs an extended RC queue pair, and this is "
                    + (extended ? "" : "a plain ") + type + ": take RC and asExtended(features)");
        }
        if ((indirectionTable == null) != (rxHash == null)) {
            throw new IllegalArgumentException(indirectionTable == null
                    ? "a hash needs an indirection table, in which it chooses a work queue"
                    : "an indirection table needs a hash, which chooses a work queue of it");
        }
        if (indirectionTable != null
                && (srq != null || extended || capabilities.maxRecvWr() != 0 || capabilities.maxRecvSge() != 0)) {
            throw new IllegalArgumentException("a queue pair with an indirection table receives into its work queues:"
                    + " leave out srq and extended, and take maxRecvWr 0 and maxRecvSge 0");
        }
        Ranges.require("maxTsoHeader", maxTsoHeader, 0, SegmentedSend.MOST);
        boolean segments = (type == QueuePairType.RAW_PACKET || type == QueuePairType.UD) && indirectionTable == null;
        if (maxTsoHeader > 0 && !segments) {
            throw new IllegalArgumentException("maxTsoHeader is for queue pairs of type RAW_PACKET and UD that send,"
                    + " and this is " + type + (indirectionTable == null ? "" : " with an indirection table")
                    + ": leave it 0");
        }
    }

    /** Makes the parameters of a queue pair that segments nothing. */
    public QueuePairInitAttributes(
            QueuePairType type,
            CompletionQueue sendCq,
            CompletionQueue recvCq,
            @Nullable SharedReceiveQueue srq,
            QueuePairCapabilities capabilities,
            boolean signalAll,
            boolean extended,
            Set<Feature> features,
            @Nullable ReceiveIndirectionTable indirectionTable,
            @Nullable RxHash rxHash) {
        this(type, sendCq, recvCq, srq, capabilities, signalAll, extended, features, indirectionTable, rxHash, 0);
    }

    /** Makes the parameters of a queue pair without an indirection table. */
    public QueuePairInitAttributes(
            QueuePairType type,
            CompletionQueue sendCq,
            CompletionQueue recvCq,
            @Nullable SharedReceiveQueue srq,
            QueuePairCapabilities capabilities,
            boolean signalAll,
            boolean extended,
            Set<Feature> features) {
        this(type, sendCq, recvCq, srq, capabilities, signalAll, extended, features, null, null);
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

    /**
     * Returns the parameters of a raw packet queue pair that spreads the frames of its flow rules over the work queues
     * of a table. It receives as soon as it is made, without {@link QueuePair#activate}, and sends nothing. (A device
     * of the driver mlx4 needs the states INIT and RTR first: {@link QueuePair#modify}.)
     */
    public static QueuePairInitAttributes spreading(ReceiveIndirectionTable table, RxHash hash) {
        CompletionQueue unused = table.entries().getFirst().cq();
        return new QueuePairInitAttributes(
                QueuePairType.RAW_PACKET, unused, unused, null, NO_QUEUES, false, false, Set.of(), table, hash);
    }

    /** Returns a copy with other sizes. */
    public QueuePairInitAttributes with(QueuePairCapabilities newCapabilities) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, srq, newCapabilities, signalAll, extended, features, indirectionTable, rxHash,
                maxTsoHeader);
    }

    /** Returns a copy that takes receives from a shared queue. */
    public QueuePairInitAttributes with(SharedReceiveQueue newSrq) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, newSrq, capabilities, signalAll, extended, features, indirectionTable, rxHash,
                maxTsoHeader);
    }

    /**
     * Returns a copy with {@link #extended} set, for the given {@link #features} beside the usual operations.
     *
     * @throws IllegalArgumentException as the constructor
     */
    public QueuePairInitAttributes asExtended(Feature... newFeatures) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, srq, capabilities, signalAll, true, Set.copyOf(List.of(newFeatures)),
                indirectionTable, rxHash, maxTsoHeader);
    }

    /**
     * Returns a copy that segments sends with a header of at most this many bytes: see {@link #maxTsoHeader}.
     *
     * @throws IllegalArgumentException as the constructor
     */
    public QueuePairInitAttributes withMaxTsoHeader(int bytes) {
        return new QueuePairInitAttributes(
                type, sendCq, recvCq, srq, capabilities, signalAll, extended, features, indirectionTable, rxHash,
                bytes);
    }

    /**
     * Writes {@code struct ibv_qp_init_attr_ex}, which begins with the fields of the plain structure. Without {@link
     * #extended} it asks for no operations.
     *
     * @param all whether to request every operation of the type; otherwise only sends, writes and reads
     */
    void writeTo(MemorySegment init, long pd, boolean all) {
        writeTo(init);
        boolean asks = extended && type != QueuePairType.DRIVER; // the driver's module sets the operations
        int mask = IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD
                | (maxTsoHeader > 0 ? IbvQpInitAttrMask.IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0)
                | (asks ? IbvQpInitAttrMask.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0);
        init.set(JAVA_INT, IbvQpInitAttrEx.COMP_MASK, mask);
        init.set(JAVA_LONG, IbvQpInitAttrEx.PD, pd);
        init.set(JAVA_SHORT, IbvQpInitAttrEx.MAX_TSO_HEADER, (short) maxTsoHeader);
        init.set(JAVA_LONG, IbvQpInitAttrEx.SEND_OPS_FLAGS, asks ? operations(all) : 0);
    }

    /**
     * Writes {@code struct ibv_qp_init_attr_ex} of a queue pair with an indirection table. Its completion queues are
     * NULL, and the one of sends only if it has no send queue.
     */
    void writeSpreading(MemorySegment init, long pd, Arena arena) {
        RxHash hash = Objects.requireNonNull(rxHash);
        writeTo(init);
        init.set(JAVA_INT, IbvQpInitAttrEx.COMP_MASK, IbvQpInitAttrMask.IBV_QP_INIT_ATTR_PD
                | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_IND_TABLE
                | IbvQpInitAttrMask.IBV_QP_INIT_ATTR_RX_HASH);
        init.set(JAVA_LONG, IbvQpInitAttrEx.PD, pd);
        init.set(JAVA_LONG, IbvQpInitAttrEx.RWQ_IND_TBL, Objects.requireNonNull(indirectionTable).handle());
        MemorySegment key = arena.allocateFrom(JAVA_BYTE, hash.key());
        init.set(JAVA_BYTE, IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_FUNCTION, (byte) hash.function());
        init.set(JAVA_BYTE, IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_KEY_LEN, (byte) key.byteSize());
        init.set(JAVA_LONG, IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_KEY, key.address());
        init.set(JAVA_LONG, IbvQpInitAttrEx.RX_HASH_CONF_RX_HASH_FIELDS_MASK, RxHashField.mask(hash.fields()));
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
        return usual | OptionalOperations.of(this);
    }

    /** Returns the feature that needs the newest release of rdma-core; there must be one. */
    Feature newestFeature() {
        return Collections.max(features);
    }

    void writeTo(MemorySegment init) {
        boolean sends = indirectionTable == null || capabilities.maxSendWr() > 0;
        boolean receives = indirectionTable == null && type != QueuePairType.XRC_SEND;
        init.set(JAVA_LONG, IbvQpInitAttr.SEND_CQ, sends ? sendCq.handle() : 0);
        init.set(JAVA_LONG, IbvQpInitAttr.RECV_CQ, receives ? recvCq.handle() : 0);
        init.set(JAVA_LONG, IbvQpInitAttr.SRQ, srq == null ? 0 : srq.handle());
        Structures.CAPABILITIES.write(capabilities, init.asSlice(IbvQpInitAttr.CAP));
        if (type == QueuePairType.XRC_SEND) { // libibverbs sets these to 0 as well
            init.set(JAVA_INT, IbvQpInitAttr.CAP_MAX_RECV_WR, 0);
            init.set(JAVA_INT, IbvQpInitAttr.CAP_MAX_RECV_SGE, 0);
        }
        init.set(JAVA_INT, IbvQpInitAttr.QP_TYPE, type.code());
        init.set(JAVA_INT, IbvQpInitAttr.SQ_SIG_ALL, signalAll ? 1 : 0);
    }

    /** Returns the type, the sizes, and the features and the hash if there are any. */
    @Override
    public String toString() {
        return type + ", " + capabilities + (features.isEmpty() ? "" : ", features=" + EnumSet.copyOf(features))
                + (rxHash == null ? "" : ", rx_hash=" + rxHash)
                + (maxTsoHeader == 0 ? "" : ", max_tso_header=" + maxTsoHeader);
    }
}
