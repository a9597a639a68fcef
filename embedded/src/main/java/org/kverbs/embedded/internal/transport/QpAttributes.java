package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.QueuePairState;
import org.kverbs.attributes.QueuePairType;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.Gids;
import org.kverbs.embedded.internal.objects.Limits;
import org.kverbs.internal.QueuePairTransitions;
import org.kverbs.internal.Refusal;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvAhAttr;
import org.kverbs.internal.abi.IbvQpAttr;
import org.kverbs.internal.abi.IbvQpAttrMask;
import org.kverbs.internal.abi.IbvQpCap;
import org.kverbs.internal.abi.IbvQpInitAttr;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.memory.Memory;

/**
 * Keeps the attributes of a queue pair as {@code struct ibv_qp_attr}, for {@code ibv_modify_qp} and {@code
 * ibv_query_qp}.
 */
public final class QpAttributes {

    /** For each bit of the mask: the offset and the length of its field. */
    private static final int[][] FIELDS = {
        {IbvQpAttrMask.IBV_QP_EN_SQD_ASYNC_NOTIFY, IbvQpAttr.EN_SQD_ASYNC_NOTIFY, 1},
        {IbvQpAttrMask.IBV_QP_ACCESS_FLAGS, IbvQpAttr.QP_ACCESS_FLAGS, 4},
        {IbvQpAttrMask.IBV_QP_PKEY_INDEX, IbvQpAttr.PKEY_INDEX, 2},
        {IbvQpAttrMask.IBV_QP_PORT, IbvQpAttr.PORT_NUM, 1},
        {IbvQpAttrMask.IBV_QP_QKEY, IbvQpAttr.QKEY, 4},
        {IbvQpAttrMask.IBV_QP_AV, IbvQpAttr.AH_ATTR, IbvAhAttr.SIZE},
        {IbvQpAttrMask.IBV_QP_ALT_PATH, IbvQpAttr.ALT_AH_ATTR, IbvAhAttr.SIZE},
        {IbvQpAttrMask.IBV_QP_ALT_PATH, IbvQpAttr.ALT_PKEY_INDEX, 2},
        {IbvQpAttrMask.IBV_QP_ALT_PATH, IbvQpAttr.ALT_PORT_NUM, 1},
        {IbvQpAttrMask.IBV_QP_ALT_PATH, IbvQpAttr.ALT_TIMEOUT, 1},
        {IbvQpAttrMask.IBV_QP_PATH_MTU, IbvQpAttr.PATH_MTU, 4},
        {IbvQpAttrMask.IBV_QP_TIMEOUT, IbvQpAttr.TIMEOUT, 1},
        {IbvQpAttrMask.IBV_QP_RETRY_CNT, IbvQpAttr.RETRY_CNT, 1},
        {IbvQpAttrMask.IBV_QP_RNR_RETRY, IbvQpAttr.RNR_RETRY, 1},
        {IbvQpAttrMask.IBV_QP_RQ_PSN, IbvQpAttr.RQ_PSN, 4},
        {IbvQpAttrMask.IBV_QP_MAX_QP_RD_ATOMIC, IbvQpAttr.MAX_RD_ATOMIC, 1},
        {IbvQpAttrMask.IBV_QP_MIN_RNR_TIMER, IbvQpAttr.MIN_RNR_TIMER, 1},
        {IbvQpAttrMask.IBV_QP_SQ_PSN, IbvQpAttr.SQ_PSN, 4},
        {IbvQpAttrMask.IBV_QP_MAX_DEST_RD_ATOMIC, IbvQpAttr.MAX_DEST_RD_ATOMIC, 1},
        {IbvQpAttrMask.IBV_QP_DEST_QPN, IbvQpAttr.DEST_QP_NUM, 4},
    };

    /** Attributes that can't be changed. */
    private static final int UNSUPPORTED = IbvQpAttrMask.IBV_QP_CAP | IbvQpAttrMask.IBV_QP_RATE_LIMIT;

    private final Qp qp;
    /** The address of our copy. */
    public final long kept;
    /** Keeps our copy alive, if it belongs to no context. */
    private final @Nullable MemorySegment own;

    public QpAttributes(Qp qp, long kept) {
        this(qp, kept, null);
    }

    private QpAttributes(Qp qp, long kept, @Nullable MemorySegment own) {
        this.qp = qp;
        this.kept = kept;
        this.own = own;
    }

    /** Returns attributes of a queue pair that can outlive the context that made it. */
    public static QpAttributes ofShared(Qp qp) {
        MemorySegment own = Arena.ofAuto().allocate(IbvQpAttr.SIZE, 8);
        return new QpAttributes(qp, own.address(), own);
    }

    /** Returns whether the copy is in memory of its own, and not in that of a context. */
    public boolean isShared() {
        return own != null;
    }

    /** Changes the attributes in the mask, or nothing. Returns 0 or -errno. */
    public int modify(long given, int mask) {
        if (qp.spread != null) {
            return Refusal.because(
                    Errno.EOPNOTSUPP,
                    "A queue pair with an indirection table receives since it was made, and has no other state.");
        }
        int to = (mask & IbvQpAttrMask.IBV_QP_STATE) != 0 ? Memory.getInt(given + IbvQpAttr.QP_STATE) : qp.state;
        boolean wrongState = (mask & IbvQpAttrMask.IBV_QP_CUR_STATE) != 0
                && Memory.getInt(given + IbvQpAttr.CUR_QP_STATE) != qp.state;
        if (wrongState
                || (mask & UNSUPPORTED) != 0
                || !QueuePairTransitions.isAllowed(
                        QueuePairType.of(qp.type), QueuePairState.of(qp.state), QueuePairState.of(to), mask)) {
            return -Errno.EINVAL;
        }
        int result = checkValues(given, mask);
        result = result < 0 ? result : qp.migration.check(given, mask);
        if (result < 0) {
            return result;
        }
        Memory.putByte(kept + IbvQpAttr.EN_SQD_ASYNC_NOTIFY, (byte) 0); // each change to SQD sets this flag anew
        for (int[] field : FIELDS) {
            if ((mask & field[0]) != 0) {
                Memory.copy(given + field[1], kept + field[1], field[2]);
            }
        }
        apply();
        qp.migration.modify(given, mask, kept);
        enter(to);
        return 0;
    }

    private int checkValues(long given, int mask) {
        if ((mask & IbvQpAttrMask.IBV_QP_AV) != 0) {
            int result = checkAddress(given + IbvQpAttr.AH_ATTR, qp.hca);
            if (result < 0) {
                return result;
            }
        }
        int reads = qp.hca.limits.reads();
        boolean good = within(given, mask, IbvQpAttrMask.IBV_QP_PORT, IbvQpAttr.PORT_NUM, Limits.PORT, Limits.PORT)
                && ((mask & IbvQpAttrMask.IBV_QP_PKEY_INDEX) == 0 || Memory.getShort(given + IbvQpAttr.PKEY_INDEX) == 0)
                && within(given, mask, IbvQpAttrMask.IBV_QP_TIMEOUT, IbvQpAttr.TIMEOUT, 0, 31)
                && within(given, mask, IbvQpAttrMask.IBV_QP_RETRY_CNT, IbvQpAttr.RETRY_CNT, 0, 7)
                && within(given, mask, IbvQpAttrMask.IBV_QP_RNR_RETRY, IbvQpAttr.RNR_RETRY, 0, 7)
                && within(given, mask, IbvQpAttrMask.IBV_QP_MIN_RNR_TIMER, IbvQpAttr.MIN_RNR_TIMER, 0, 31)
                && within(given, mask, IbvQpAttrMask.IBV_QP_MAX_QP_RD_ATOMIC, IbvQpAttr.MAX_RD_ATOMIC, 0, reads)
                && within(given, mask, IbvQpAttrMask.IBV_QP_MAX_DEST_RD_ATOMIC, IbvQpAttr.MAX_DEST_RD_ATOMIC, 0, reads);
        if (!good) {
            return -Errno.EINVAL;
        }
        if ((mask & IbvQpAttrMask.IBV_QP_PATH_MTU) != 0) {
            int code = Memory.getInt(given + IbvQpAttr.PATH_MTU);
            if (code < 1 || code > 5 || mtu(code) > qp.hca.mtu()) {
                return -Errno.EINVAL;
            }
        }
        boolean numbers = is24Bits(given, mask, IbvQpAttrMask.IBV_QP_RQ_PSN, IbvQpAttr.RQ_PSN)
                && is24Bits(given, mask, IbvQpAttrMask.IBV_QP_SQ_PSN, IbvQpAttr.SQ_PSN)
                && is24Bits(given, mask, IbvQpAttrMask.IBV_QP_DEST_QPN, IbvQpAttr.DEST_QP_NUM);
        return numbers ? 0 : -Errno.EINVAL;
    }

    private static boolean is24Bits(long given, int mask, int bit, int offset) {
        return (mask & bit) == 0 || (Memory.getInt(given + offset) & ~Psn.MASK) == 0;
    }

    private static boolean within(long given, int mask, int bit, int offset, int least, int most) {
        int value = getByte(given, offset);
        return (mask & bit) == 0 || value >= least && value <= most;
    }

    /** Checks a {@code struct ibv_ah_attr} against a device. Returns 0 or -errno. */
    public static int checkAddress(long given, Hca hca) {
        if (getByte(given, IbvAhAttr.PORT_NUM) != Limits.PORT || getByte(given, IbvAhAttr.IS_GLOBAL) == 0) {
            return -Errno.EINVAL;
        }
        var route = new AddressVector();
        route.read(given);
        if (route.sourceIndex >= hca.gids.size()) {
            return -Errno.ENODATA;
        }
        boolean v4 = Gids.isV4(route.gidHigh, route.gidLow);
        boolean fits = v4 == Gids.isV4(hca.gids.high(route.sourceIndex), hca.gids.low(route.sourceIndex));
        return fits ? 0 : -Errno.EINVAL;
    }

    private static int getByte(long given, int offset) {
        return Byte.toUnsignedInt(Memory.getByte(given + offset));
    }

    private static int mtu(int code) {
        return 128 << code;
    }

    /** Makes the alternate path the one that is kept as the path of the queue pair. */
    void moveToAlternate() {
        Memory.copy(kept + IbvQpAttr.ALT_AH_ATTR, kept + IbvQpAttr.AH_ATTR, IbvAhAttr.SIZE);
        Memory.copy(kept + IbvQpAttr.ALT_TIMEOUT, kept + IbvQpAttr.TIMEOUT, 1);
    }

    /** Copies the kept attributes to the queue pair. */
    private void apply() {
        qp.route.read(kept + IbvQpAttr.AH_ATTR);
        qp.pathMtu = mtu(Math.max(1, Memory.getInt(kept + IbvQpAttr.PATH_MTU)));
        qp.destinationQp = Memory.getInt(kept + IbvQpAttr.DEST_QP_NUM);
        qp.qkey = Memory.getInt(kept + IbvQpAttr.QKEY);
        qp.access = Memory.getInt(kept + IbvQpAttr.QP_ACCESS_FLAGS);
        qp.timeout = getByte(kept, IbvQpAttr.TIMEOUT);
        qp.retryCount = getByte(kept, IbvQpAttr.RETRY_CNT);
        qp.rnrRetry = getByte(kept, IbvQpAttr.RNR_RETRY);
        qp.minRnrTimer = getByte(kept, IbvQpAttr.MIN_RNR_TIMER);
        qp.maxReadAtomic = getByte(kept, IbvQpAttr.MAX_RD_ATOMIC);
        qp.maxDestReadAtomic = getByte(kept, IbvQpAttr.MAX_DEST_RD_ATOMIC);
    }

    private void enter(int to) {
        int from = qp.state;
        switch (to) {
            case IbvQpState.IBV_QPS_RESET -> {
                qp.reset();
                Memory.at(kept, IbvQpAttr.SIZE).fill((byte) 0);
                apply();
            }
            case IbvQpState.IBV_QPS_RTR -> {
                if (from != to) {
                    qp.responder.start(Memory.getInt(kept + IbvQpAttr.RQ_PSN));
                }
            }
            case IbvQpState.IBV_QPS_RTS -> {
                if (from == IbvQpState.IBV_QPS_RTR) {
                    int psn = Memory.getInt(kept + IbvQpAttr.SQ_PSN);
                    qp.requester.start(psn);
                    qp.datagrams.start(psn);
                    qp.completer.start(psn);
                } else if (qp.frames == null && qp.type != IbvQpType.IBV_QPT_UD) {
                    qp.requester.join(); // the address may have been changed in SQD
                }
                qp.hca.engine.ready(qp);
            }
            case IbvQpState.IBV_QPS_SQD -> {
                if (from != to) {
                    qp.tellsWhenDrained = getByte(kept, IbvQpAttr.EN_SQD_ASYNC_NOTIFY) != 0;
                }
                qp.hca.engine.ready(qp);
            }
            case IbvQpState.IBV_QPS_ERR -> {
                qp.toError();
                return;
            }
            default -> {
                // INIT: receives may be posted.
            }
        }
        qp.setState(to);
    }

    /** Fills both structures. */
    public int query(long attributes, long initAttributes) {
        Memory.copy(kept, attributes, IbvQpAttr.SIZE);
        Memory.putInt(attributes + IbvQpAttr.QP_STATE, qp.state);
        Memory.putInt(attributes + IbvQpAttr.CUR_QP_STATE, qp.state);
        Memory.putInt(attributes + IbvQpAttr.PATH_MIG_STATE, qp.migration.state());
        // The current PSNs of the connection, as Soft-RoCE reports them.
        Memory.putInt(attributes + IbvQpAttr.RQ_PSN, qp.responder.expectedPsn());
        Memory.putInt(attributes + IbvQpAttr.SQ_PSN, qp.requester.nextPsn());
        boolean draining = qp.state == IbvQpState.IBV_QPS_SQD && qp.isSending();
        Memory.putByte(attributes + IbvQpAttr.SQ_DRAINING, (byte) (draining ? 1 : 0));
        writeCapabilities(attributes + IbvQpAttr.CAP);
        Memory.putLong(initAttributes + IbvQpInitAttr.SEND_CQ, addressOf(qp.sendCq));
        Memory.putLong(initAttributes + IbvQpInitAttr.RECV_CQ, addressOf(qp.recvCq));
        Memory.putLong(initAttributes + IbvQpInitAttr.SRQ, qp.srq == null ? 0 : qp.srq.address);
        Memory.putInt(initAttributes + IbvQpInitAttr.QP_TYPE, qp.type);
        Memory.putInt(initAttributes + IbvQpInitAttr.SQ_SIG_ALL, qp.signalsAll ? 1 : 0);
        writeCapabilities(initAttributes + IbvQpInitAttr.CAP);
        return 0;
    }

    private static long addressOf(@Nullable Cq cq) {
        return cq == null ? 0 : cq.address;
    }

    /** Writes {@code struct ibv_qp_cap}. */
    public void writeCapabilities(long at) {
        Memory.putInt(at + IbvQpCap.MAX_SEND_WR, qp.sends.capacity());
        Memory.putInt(at + IbvQpCap.MAX_RECV_WR, qp.receives.own.capacity());
        Memory.putInt(at + IbvQpCap.MAX_SEND_SGE, qp.sends.maxEntries());
        Memory.putInt(at + IbvQpCap.MAX_RECV_SGE, qp.receives.own.maxEntries());
        Memory.putInt(at + IbvQpCap.MAX_INLINE_DATA, qp.sends.maxInline());
    }
}
