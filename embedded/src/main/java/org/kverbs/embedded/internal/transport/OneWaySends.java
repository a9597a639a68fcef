package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvWcStatus;

/**
 * Sends the posted requests of a queue pair that no peer acknowledges: datagrams and Ethernet frames. A request is done
 * when it was sent. Between two steps other threads get the device.
 */
final class OneWaySends {

    /** Sends a request whose memory may be used, or one segment of it. */
    interface Carrier {
        /** Returns the status of the request, which is valid when all its segments were sent. */
        int send(SendWqe wqe);
    }

    private final Qp qp;
    private final Carrier carrier;
    /** True if the next step waits until other threads had the device. */
    private boolean rests;

    private final Task nextStep = new Task() {
        @Override
        protected void run() {
            rests = false;
            qp.hca.engine.ready(qp);
        }
    };

    OneWaySends(Qp qp, Carrier carrier) {
        this.qp = qp;
        this.carrier = carrier;
    }

    /** Tells whether a request may be sent: in a drained queue only one that was begun. */
    private boolean maySend(SendWqe wqe) {
        return qp.state == IbvQpState.IBV_QPS_RTS || qp.state == IbvQpState.IBV_QPS_SQD && wqe.started;
    }

    /** Sends the posted requests, unless the queue is drained; from memory to memory no more than one step. */
    void run() {
        SendQueue sends = qp.sends;
        long left = qp.hca.link.carriesWholeMessages() ? Requester.STEP : Long.MAX_VALUE;
        while (sends.size() > 0 && maySend(sends.get(0)) && !rests && !qp.hca.link.mustWait(qp)
                && !qp.pacer.mustWait()) {
            SendWqe wqe = sends.get(0);
            Segments segments = wqe.isSegmented() ? wqe.segments : null;
            boolean isBegun = segments != null && segments.isBegun();
            wqe.started = true;
            left -= segments == null ? wqe.length : segments.nextLength(wqe);
            int status = isBegun ? IbvWcStatus.IBV_WC_SUCCESS : qp.hca.injected(wqe.completionOpcode());
            if (status == IbvWcStatus.IBV_WC_SUCCESS) {
                status = wqe.isAllowed(qp) ? carrier.send(wqe) : IbvWcStatus.IBV_WC_LOC_PROT_ERR;
            }
            if (status != IbvWcStatus.IBV_WC_SUCCESS) {
                qp.completer.fail(wqe, status);
            } else if (segments == null || segments.isSent()) {
                qp.completer.finish(wqe);
            }
            if (left <= 0 && sends.size() > 0) {
                rests = true;
                qp.hca.engine.later(nextStep);
            }
        }
    }
}
