package org.kverbs.embedded.internal.cm;

import org.kverbs.embedded.internal.cm.Message.Rep;
import org.kverbs.embedded.internal.cm.Message.Req;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpAttrMask;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.memory.Memory;

/**
 * Holds the queue pair attributes that both sides of a connection agreed on ({@code rdma_init_qp_attr}).
 *
 * @param responderResources reads and atomics of the peer that the queue pair answers at once
 * @param initiatorDepth the queue pair's own reads and atomics in flight
 * @param timeout 4.096 us * 2^n
 */
record Negotiated(
        Route route,
        int mtu,
        int remoteQpn,
        int receivePsn,
        int sendPsn,
        int responderResources,
        int initiatorDepth,
        int timeout,
        int retryCount,
        int rnrRetry) {

    /** The peer waits 655 ms before it retries a message that found no receive, as in Linux. */
    private static final int MIN_RNR_TIMER = 0;

    /**
     * Returns the attributes of the active side. The starting PSN of a message is the one that the receiver of the
     * message sends with (IBA volume 1, 12.7.31).
     */
    static Negotiated of(Route route, Req req, Rep rep) {
        return new Negotiated(
                route,
                req.mtu(),
                rep.qpn(),
                req.psn(),
                rep.psn(),
                Math.min(Parameters.READS, rep.initiatorDepth()),
                Math.min(Parameters.READS, rep.responderResources()),
                Timers.acknowledgement(Timers.PACKET_LIFE, rep.ackDelay()),
                req.retryCount(),
                rep.rnrRetry());
    }

    /** Returns the attributes of the passive side. */
    static Negotiated of(Route route, Req req, int psn) {
        return new Negotiated(
                route,
                req.mtu(),
                req.qpn(),
                psn,
                req.psn(),
                Math.min(Parameters.READS, req.initiatorDepth()),
                Math.min(Parameters.READS, req.responderResources()),
                Timers.acknowledgement(Math.max(0, req.path().ackTimeout() - 1), Timers.ACK_DELAY),
                req.retryCount(),
                req.rnrRetry());
    }

    /** Returns a copy with the caller's choices. */
    Negotiated with(Parameters chosen) {
        return new Negotiated(
                route,
                mtu,
                remoteQpn,
                receivePsn,
                sendPsn,
                chosen.responderResources(),
                chosen.initiatorDepth(),
                timeout,
                retryCount,
                rnrRetry);
    }

    Negotiated withTimeout(int other) {
        return new Negotiated(
                route, mtu, remoteQpn, receivePsn, sendPsn, responderResources, initiatorDepth, other, retryCount,
                rnrRetry);
    }

    /** Writes the attributes for INIT, which depend on no negotiation. Returns the mask. */
    static int writeInit(long attributes) {
        Memory.putInt(attributes + IbvQpAttr.QP_ACCESS_FLAGS, IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE
                | IbvAccessFlags.IBV_ACCESS_REMOTE_READ
                | IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC);
        return start(attributes) | IbvQpAttrMask.IBV_QP_ACCESS_FLAGS;
    }

    /** Writes the attributes of a datagram queue pair. Returns the mask, or -errno. */
    static int writeDatagrams(long attributes, int state, int qkey) {
        return switch (state) {
            case IbvQpState.IBV_QPS_INIT -> {
                Memory.putInt(attributes + IbvQpAttr.QKEY, qkey);
                yield start(attributes) | IbvQpAttrMask.IBV_QP_QKEY;
            }
            case IbvQpState.IBV_QPS_RTR -> IbvQpAttrMask.IBV_QP_STATE;
            case IbvQpState.IBV_QPS_RTS -> {
                Memory.putInt(attributes + IbvQpAttr.SQ_PSN, 0);
                yield IbvQpAttrMask.IBV_QP_STATE | IbvQpAttrMask.IBV_QP_SQ_PSN;
            }
            default -> -Errno.EINVAL;
        };
    }

    private static int start(long attributes) {
        Memory.putShort(attributes + IbvQpAttr.PKEY_INDEX, (short) 0);
        putByte(attributes + IbvQpAttr.PORT_NUM, Route.PORT);
        return IbvQpAttrMask.IBV_QP_STATE | IbvQpAttrMask.IBV_QP_PKEY_INDEX | IbvQpAttrMask.IBV_QP_PORT;
    }

    /** Writes the attributes for a state. Returns the mask, or -errno. */
    int write(long attributes, int state) {
        return switch (state) {
            case IbvQpState.IBV_QPS_INIT -> writeInit(attributes);
            case IbvQpState.IBV_QPS_RTR -> writeReceiving(attributes);
            case IbvQpState.IBV_QPS_RTS -> writeSending(attributes);
            default -> -Errno.EINVAL;
        };
    }

    private int writeReceiving(long attributes) {
        route.write(attributes + IbvQpAttr.AH_ATTR);
        Memory.putInt(attributes + IbvQpAttr.PATH_MTU, mtu);
        Memory.putInt(attributes + IbvQpAttr.DEST_QP_NUM, remoteQpn);
        Memory.putInt(attributes + IbvQpAttr.RQ_PSN, receivePsn);
        putByte(attributes + IbvQpAttr.MAX_DEST_RD_ATOMIC, responderResources);
        putByte(attributes + IbvQpAttr.MIN_RNR_TIMER, MIN_RNR_TIMER);
        return IbvQpAttrMask.IBV_QP_STATE
                | IbvQpAttrMask.IBV_QP_AV
                | IbvQpAttrMask.IBV_QP_PATH_MTU
                | IbvQpAttrMask.IBV_QP_DEST_QPN
                | IbvQpAttrMask.IBV_QP_RQ_PSN
                | IbvQpAttrMask.IBV_QP_MAX_DEST_RD_ATOMIC
                | IbvQpAttrMask.IBV_QP_MIN_RNR_TIMER;
    }

    private int writeSending(long attributes) {
        Memory.putInt(attributes + IbvQpAttr.SQ_PSN, sendPsn);
        putByte(attributes + IbvQpAttr.TIMEOUT, timeout);
        putByte(attributes + IbvQpAttr.RETRY_CNT, retryCount);
        putByte(attributes + IbvQpAttr.RNR_RETRY, rnrRetry);
        putByte(attributes + IbvQpAttr.MAX_RD_ATOMIC, initiatorDepth);
        return IbvQpAttrMask.IBV_QP_STATE
                | IbvQpAttrMask.IBV_QP_SQ_PSN
                | IbvQpAttrMask.IBV_QP_TIMEOUT
                | IbvQpAttrMask.IBV_QP_RETRY_CNT
                | IbvQpAttrMask.IBV_QP_RNR_RETRY
                | IbvQpAttrMask.IBV_QP_MAX_QP_RD_ATOMIC;
    }

    private static void putByte(long address, int value) {
        Memory.putByte(address, (byte) value);
    }
}
