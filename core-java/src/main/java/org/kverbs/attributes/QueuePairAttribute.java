package org.kverbs.attributes;

import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import org.kverbs.internal.abi.IbvQpAttrMask;

/**
 * An attribute of a queue pair: one bit of {@code enum ibv_qp_attr_mask}. A call of ibv_modify_qp(3) names the
 * attributes that it sets by these bits, a call of ibv_query_qp(3) those that it asks for. IBA volume 1, table 91 lists
 * the attributes that each transition needs.
 */
public enum QueuePairAttribute {
    /** {@code IBV_QP_STATE}: the state to move to. */
    STATE(IbvQpAttrMask.IBV_QP_STATE),
    /** {@code IBV_QP_CUR_STATE}: the state that the caller assumes the queue pair is in. */
    CUR_STATE(IbvQpAttrMask.IBV_QP_CUR_STATE),
    /** {@code IBV_QP_EN_SQD_ASYNC_NOTIFY}: whether the device raises an event when the send queue has drained. */
    EN_SQD_ASYNC_NOTIFY(IbvQpAttrMask.IBV_QP_EN_SQD_ASYNC_NOTIFY),
    /** {@code IBV_QP_ACCESS_FLAGS}: the operations that a peer may use. */
    ACCESS_FLAGS(IbvQpAttrMask.IBV_QP_ACCESS_FLAGS),
    /** {@code IBV_QP_PKEY_INDEX}: the partition: an index into the port's P_Key table. */
    PKEY_INDEX(IbvQpAttrMask.IBV_QP_PKEY_INDEX),
    /** {@code IBV_QP_PORT}: the port of the device. */
    PORT(IbvQpAttrMask.IBV_QP_PORT),
    /** {@code IBV_QP_QKEY}: the Q_Key that datagrams must carry. */
    QKEY(IbvQpAttrMask.IBV_QP_QKEY),
    /** {@code IBV_QP_AV}: the address of the peer, the primary path. */
    AV(IbvQpAttrMask.IBV_QP_AV),
    /** {@code IBV_QP_PATH_MTU}: the largest payload of a packet. */
    PATH_MTU(IbvQpAttrMask.IBV_QP_PATH_MTU),
    /** {@code IBV_QP_TIMEOUT}: how long the device waits for an acknowledgement. */
    TIMEOUT(IbvQpAttrMask.IBV_QP_TIMEOUT),
    /** {@code IBV_QP_RETRY_CNT}: how often the device sends a request again when no acknowledgement comes. */
    RETRY_CNT(IbvQpAttrMask.IBV_QP_RETRY_CNT),
    /** {@code IBV_QP_RNR_RETRY}: how often the device sends a request again when the peer had no receive posted. */
    RNR_RETRY(IbvQpAttrMask.IBV_QP_RNR_RETRY),
    /** {@code IBV_QP_RQ_PSN}: the first packet sequence number to receive. */
    RQ_PSN(IbvQpAttrMask.IBV_QP_RQ_PSN),
    /** {@code IBV_QP_MAX_QP_RD_ATOMIC}: how many reads and atomics to the peer may be in flight. */
    MAX_QP_RD_ATOMIC(IbvQpAttrMask.IBV_QP_MAX_QP_RD_ATOMIC),
    /** {@code IBV_QP_ALT_PATH}: the alternate path with its port, partition and timeout. */
    ALT_PATH(IbvQpAttrMask.IBV_QP_ALT_PATH),
    /** {@code IBV_QP_MIN_RNR_TIMER}: how long a peer must wait after it met no posted receive here. */
    MIN_RNR_TIMER(IbvQpAttrMask.IBV_QP_MIN_RNR_TIMER),
    /** {@code IBV_QP_SQ_PSN}: the first packet sequence number to send. */
    SQ_PSN(IbvQpAttrMask.IBV_QP_SQ_PSN),
    /** {@code IBV_QP_MAX_DEST_RD_ATOMIC}: how many reads and atomics of the peer may be in flight. */
    MAX_DEST_RD_ATOMIC(IbvQpAttrMask.IBV_QP_MAX_DEST_RD_ATOMIC),
    /** {@code IBV_QP_PATH_MIG_STATE}: the state of path migration. */
    PATH_MIG_STATE(IbvQpAttrMask.IBV_QP_PATH_MIG_STATE),
    /** {@code IBV_QP_CAP}: the sizes of the queues. */
    CAP(IbvQpAttrMask.IBV_QP_CAP),
    /** {@code IBV_QP_DEST_QPN}: the peer's queue pair number. */
    DEST_QPN(IbvQpAttrMask.IBV_QP_DEST_QPN),
    /** {@code IBV_QP_RATE_LIMIT}: the sending rate of a raw packet queue pair. */
    RATE_LIMIT(IbvQpAttrMask.IBV_QP_RATE_LIMIT);

    private static final QueuePairAttribute[] ALL = values();

    private final int bit;

    QueuePairAttribute(int bit) {
        this.bit = bit;
    }

    /** Returns the one bit that stands for this constant in {@code enum ibv_qp_attr_mask}. */
    public int bit() {
        return bit;
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static int mask(QueuePairAttribute... flags) {
        return mask(List.of(flags));
    }

    /** Returns the bits of {@code flags} together; 0 for none. */
    public static int mask(Collection<QueuePairAttribute> flags) {
        int mask = 0;
        for (QueuePairAttribute flag : flags) {
            mask |= flag.bit;
        }
        return mask;
    }

    /** Returns a new set of the constants whose bit is in {@code mask}. Ignores bits that have no name. */
    public static EnumSet<QueuePairAttribute> of(int mask) {
        EnumSet<QueuePairAttribute> set = EnumSet.noneOf(QueuePairAttribute.class);
        for (QueuePairAttribute each : ALL) {
            if ((mask & each.bit) != 0) {
                set.add(each);
            }
        }
        return set;
    }
}
