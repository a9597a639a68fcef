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

    /**
     * How often a post tries the direct path while another thread has what it needs, and how often it lets the
     * processor pause before each further try: some two microseconds in all. A post on the usual path holds the lock of
     * the engine for longer than a direct one takes, and so keeps the posts of other threads from the direct path. Two
     * threads that send to each other and gave up at once kept each other on the usual path.
     */
    private static final int TRIES = 32;

    private static final int PAUSES = 4;

    private final Qp qp;
    /** True for a caller that posts a list of sends as a whole or not at all. */
    private final boolean whole;

    Posts(Qp qp, boolean whole) {
        this.qp = qp;
        this.whole = whole;
    }

    @Override
    public int postSend(long workRequests, long badWorkRequest) {
        int done = qp.direct.send(workRequests);
        for (int i = 1; done == DirectPath.IN_USE && i < TRIES; i++) {
            pause();
            done = qp.direct.send(workRequests);
        }
        if (done == 0) {
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
        for (int i = 1; done == DirectPath.IN_USE && i < TRIES; i++) {
            pause();
            done = qp.direct.receive(workRequests, badWorkRequest);
        }
        if (done <= 0) {
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

    private static void pause() {
        for (int i = 0; i < PAUSES; i++) {
            Thread.onSpinWait();
        }
    }
}
