package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.Occupancy;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;

/** Takes and completes the receives of a queue pair: of its own queue, or of a shared one. */
final class ReceiveSide {

    private final Qp qp;
    /** Its own queue; without room if the receives come from elsewhere. */
    final ReceiveQueue own;
    /** The occupied slots of its own receive queue, or of the shared one. */
    final Occupancy occupied;

    ReceiveSide(Qp qp, int maxRequests, int maxEntries) {
        this.qp = qp;
        this.own = new ReceiveQueue(qp.hca, qp.pd, qp.poster, maxRequests, maxEntries, false);
        this.occupied = qp.srq == null ? own.occupied : qp.srq.queue.occupied;
    }

    /** Takes the next receive, if there is one. */
    boolean take(ReceiveQueue.Receive target) {
        return take(target, qp.srq);
    }

    /** Takes the next receive of a shared queue, or of the own one for null. */
    boolean take(ReceiveQueue.Receive target, @Nullable Srq shared) {
        ReceiveQueue queue = shared == null ? own : shared.queue;
        if (queue.size() == 0) {
            return false;
        }
        queue.take(target);
        if (shared != null) {
            shared.checkLimit();
            if (target.posted != null) {
                target.posted.takenBy(qp.poster);
            }
        }
        return true;
    }

    /** Completes a receive of the own queue or of a basic shared one. */
    void complete(ReceiveQueue.Receive receive, int status, int opcode, int bytes, int word, int sourceQp, int flags,
            boolean solicited) {
        qp.counted.received(bytes, status != IbvWcStatus.IBV_WC_SUCCESS);
        if (qp.recvCq != null) {
            qp.recvCq.add(receive.id, status, opcode, bytes, word, qp.number, sourceQp, flags, solicited, occupied,
                    receive.posted);
        }
    }

    /** Completes the receives of its own queue with an error, in order. */
    void flush() {
        var receive = new ReceiveQueue.Receive(own.maxEntries());
        while (own.size() > 0) {
            own.take(receive);
            complete(receive, IbvWcStatus.IBV_WC_WR_FLUSH_ERR, IbvWcOpcode.IBV_WC_RECV, 0, 0, 0, 0, false);
        }
    }
}
