package org.kverbs.attributes;

import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpCap;

/** The fields of {@code struct ibv_qp_attr} that each bit of its mask covers (ibv_modify_qp(3)). */
final class QueuePairFields {
    private QueuePairFields() {}

    /** Returns the fields of {@code attribute}: of each field its offset and its length in bytes. */
    static int[] of(QueuePairAttribute attribute) {
        return switch (attribute) {
            // sq_draining has no bit of its own: a query returns it with the state.
            case STATE -> new int[] {IbvQpAttr.QP_STATE, 4, IbvQpAttr.SQ_DRAINING, 1};
            case CUR_STATE -> new int[] {IbvQpAttr.CUR_QP_STATE, 4};
            case EN_SQD_ASYNC_NOTIFY -> new int[] {IbvQpAttr.EN_SQD_ASYNC_NOTIFY, 1};
            case ACCESS_FLAGS -> new int[] {IbvQpAttr.QP_ACCESS_FLAGS, 4};
            case PKEY_INDEX -> new int[] {IbvQpAttr.PKEY_INDEX, 2};
            case PORT -> new int[] {IbvQpAttr.PORT_NUM, 1};
            case QKEY -> new int[] {IbvQpAttr.QKEY, 4};
            case AV -> new int[] {IbvQpAttr.AH_ATTR, IbvAhAttr.SIZE};
            case PATH_MTU -> new int[] {IbvQpAttr.PATH_MTU, 4};
            case TIMEOUT -> new int[] {IbvQpAttr.TIMEOUT, 1};
            case RETRY_CNT -> new int[] {IbvQpAttr.RETRY_CNT, 1};
            case RNR_RETRY -> new int[] {IbvQpAttr.RNR_RETRY, 1};
            case RQ_PSN -> new int[] {IbvQpAttr.RQ_PSN, 4};
            case MAX_QP_RD_ATOMIC -> new int[] {IbvQpAttr.MAX_RD_ATOMIC, 1};
            case ALT_PATH -> new int[] {
                IbvQpAttr.ALT_AH_ATTR, IbvAhAttr.SIZE,
                IbvQpAttr.ALT_PKEY_INDEX, 2,
                IbvQpAttr.ALT_PORT_NUM, 1,
                IbvQpAttr.ALT_TIMEOUT, 1
            };
            case MIN_RNR_TIMER -> new int[] {IbvQpAttr.MIN_RNR_TIMER, 1};
            case SQ_PSN -> new int[] {IbvQpAttr.SQ_PSN, 4};
            case MAX_DEST_RD_ATOMIC -> new int[] {IbvQpAttr.MAX_DEST_RD_ATOMIC, 1};
            case PATH_MIG_STATE -> new int[] {IbvQpAttr.PATH_MIG_STATE, 4};
            case CAP -> new int[] {IbvQpAttr.CAP, IbvQpCap.SIZE};
            case DEST_QPN -> new int[] {IbvQpAttr.DEST_QP_NUM, 4};
            case RATE_LIMIT -> new int[] {IbvQpAttr.RATE_LIMIT, 4};
        };
    }
}
