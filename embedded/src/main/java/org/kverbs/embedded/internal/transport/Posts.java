package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueuePairOps;

/**
 * Takes the program's posts to the queues of a queue pair, if its state permits. Takes the engine's lock for each call
 * that {@link DirectPath} does not carry out.
 */
final class Posts implements QueuePairOps {

    private final Qp qp;
    /** True for a caller that posts a list of sends as a whole or not at all. */
    private final boolean whole;

    Posts(Qp qp, boolean whole) {
        this.qp = qp;
        this.whole = whole;
    }

    @Override
    public int postSend(long workRequests, long badWorkRequest) {
        if (qp.direct.send(workRequests)) {
            return 0;
        }
        qp.hca.engine.enter();
        try {
            qp.direct.settle();
            int refusal = qp.hca.refuse(Operation.POST_SEND);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            if (qp.state < IbvQpState.IBV_QPS_RTS) {
                return Srq.refuse(workRequests, badWorkRequest);
            }
            int before = qp.sends.size();
            int result = 0;
            for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvSendWr.NEXT)) {
                result = qp.sends.post(request);
                if (result < 0) {
                    Memory.putLong(badWorkRequest, whole && result == -Errno.ENOMEM ? workRequests : request);
                    break;
                }
            }
            if (whole && result < 0) {
                qp.sends.cut(before);
            } else {
                qp.sends.watch(before);
                qp.posted();
            }
            return result;
        } finally {
            qp.hca.engine.leave();
        }
    }

    @Override
    public int postReceive(long workRequests, long badWorkRequest) {
        int done = qp.direct.receive(workRequests, badWorkRequest);
        if (done != DirectPath.NOT_DONE) {
            return done;
        }
        qp.hca.engine.enter();
        try {
            qp.direct.settle();
            int refusal = qp.hca.refuse(Operation.POST_RECEIVE);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            if (qp.state == IbvQpState.IBV_QPS_RESET || qp.srq != null || qp.spread != null || qp.isXrc()) {
                Memory.putLong(badWorkRequest, workRequests);
                return -Errno.EINVAL;
            }
            int result = Srq.postAll(qp.receives.own, workRequests, badWorkRequest);
            if (qp.state == IbvQpState.IBV_QPS_ERR) {
                qp.flush();
            }
            return result;
        } finally {
            qp.hca.engine.leave();
        }
    }
}
