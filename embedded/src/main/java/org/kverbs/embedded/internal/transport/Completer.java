package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.attributes.QueuePairTimers;
import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;

/**
 * Handles the answers to the requests of a reliable queue pair, and missing answers (IBA volume 1, 9.7.5 and 9.7.6).
 */
final class Completer {

    /**
     * By how many intervals a timeout may be put off because packets that have arrived are not taken yet: it may come
     * after up to four times its interval (IBA volume 1, 9.7.6.1.3).
     */
    private static final int MOST_PUT_OFF = 3;
    /** How soon a timeout that was put off looks again, in nanoseconds: a thread that takes packets is done soon. */
    private static final long SOON = 100_000;
    /** The retry count that means for ever; for RNR only. */
    private static final int FOREVER = 7;

    private final Qp qp;
    private final Timer timer = new Timer();
    private int unacknowledged;
    private int retriesLeft;
    private int rnrRetriesLeft;
    /** When the current timeout counts at the latest; 0 if it was not put off. */
    private long latest;
    /** True if the peer's receive queue was empty and the RNR timer still runs. */
    private boolean isHeldBack;
    /** True if all was sent again since the last progress: a second sign of the same loss has no effect. */
    private boolean wentBack;

    Completer(Qp qp) {
        this.qp = qp;
    }

    /** @param psn the PSN of the first request */
    void start(int psn) {
        unacknowledged = psn;
        refill();
        isHeldBack = false;
        stop();
    }

    /** Returns the first PSN that the peer has not acknowledged. */
    int unacknowledged() {
        return unacknowledged;
    }

    /** Notes that the peer has carried out directly all before a PSN. */
    void acknowledgedDirectly(int end) {
        unacknowledged = end;
        refill();
    }

    boolean isHeldBack() {
        return isHeldBack;
    }

    private void refill() {
        retriesLeft = qp.retryCount;
        rnrRetriesLeft = qp.rnrRetry;
        latest = 0;
        wentBack = false;
    }

    void stop() {
        qp.hca.engine.cancel(timer);
    }

    /** Runs the timer while an answer is due, and stops it otherwise. */
    void watch() {
        if (isHeldBack || qp.state == IbvQpState.IBV_QPS_RESET) {
            return;
        }
        if (!qp.requester.isWaiting() || qp.timeout == 0 || isPaced()) {
            stop();
        } else if (!timer.isScheduled()) {
            qp.hca.engine.schedule(timer, timeoutNanos());
        }
    }

    /** Tells whether the next packet waits for its turn at a limited rate, with none on the way that has an answer. */
    private boolean isPaced() {
        return qp.pacer.isHolding() && qp.requester.isIdle();
    }

    private long timeoutNanos() {
        return 4096L << qp.timeout;
    }

    /** Handles an ACK or NAK. */
    void acknowledged(Packet packet) {
        if (Psn.distance(packet.psn, unacknowledged) < 0 || Psn.distance(packet.psn, qp.requester.sentEnd()) >= 0) {
            return; // an old PSN, or one that was never sent
        }
        switch (packet.syndrome >>> 5 & 3) {
            case 0 -> progress(Psn.plus(packet.psn, 1));
            case 1 -> {
                progress(packet.psn);
                receiverNotReady(packet.psn, packet.syndrome & 0x1f);
            }
            case 3 -> {
                progress(packet.psn);
                refused(packet.psn, packet.syndrome & 0x1f);
            }
            default -> {
                // A reserved code: the packet is dropped (IBA volume 1, 9.7.5.2.1).
            }
        }
        qp.hca.engine.ready(qp);
    }

    private void receiverNotReady(int psn, int code) {
        qp.counters.count(Counter.RCVD_RNR_ERR);
        if (isHeldBack) {
            return;
        }
        if (qp.rnrRetry != FOREVER && rnrRetriesLeft-- == 0) {
            qp.counters.count(Counter.RETRY_RNR_EXCEEDED_ERR);
            failAt(psn, IbvWcStatus.IBV_WC_RNR_RETRY_EXC_ERR);
            return;
        }
        // Not from the NAK's PSN on: the answer to an earlier read may be lost.
        qp.requester.goBack(unacknowledged);
        isHeldBack = true;
        qp.hca.engine.schedule(timer, QueuePairTimers.rnrTimer(code).toNanos());
    }

    private void refused(int psn, int code) {
        switch (code) {
            case Nak.SEQUENCE -> {
                qp.counters.count(Counter.RCVD_SEQ_ERR);
                retry(psn);
            }
            case Nak.INVALID_REQUEST -> failAt(psn, IbvWcStatus.IBV_WC_REM_INV_REQ_ERR);
            case Nak.REMOTE_ACCESS -> {
                qp.counters.count(Counter.REQ_REMOTE_ACCESS_ERRORS);
                failAt(psn, IbvWcStatus.IBV_WC_REM_ACCESS_ERR);
            }
            case Nak.REMOTE_OPERATION -> failAt(psn, IbvWcStatus.IBV_WC_REM_OP_ERR);
            default -> failAt(psn, IbvWcStatus.IBV_WC_BAD_RESP_ERR);
        }
    }

    /**
     * Sends again from a PSN on, unless that was done since the last progress. While the peer's receive queue is empty,
     * all will be sent again anyway, and the RNR timer must keep its time.
     */
    private void retry(int psn) {
        if (!wentBack && !isHeldBack) {
            wentBack = true;
            qp.requester.lost();
            if (qp.retryCount == 0 && !qp.migration.leavesBrokenPath()) {
                qp.counters.count(Counter.RETRY_EXCEEDED_ERR);
                failAt(psn, IbvWcStatus.IBV_WC_RETRY_EXC_ERR);
                return;
            }
            qp.counters.count(Counter.COMPLETER_RETRY_ERR);
            qp.requester.goBack(psn);
            qp.hca.engine.schedule(timer, timeoutNanosOrNever());
        }
    }

    private long timeoutNanosOrNever() {
        return qp.timeout == 0 ? Long.MAX_VALUE / 4 : timeoutNanos();
    }

    private void timedOut() {
        if (isHeldBack) {
            isHeldBack = false;
            qp.hca.engine.ready(qp);
            return;
        }
        int psn = unacknowledged;
        boolean wentBefore = wentBack;
        boolean caughtUp = qp.hca.link.catchUp();
        if (unacknowledged != psn || isHeldBack || qp.state == IbvQpState.IBV_QPS_ERR) {
            return; // an answer had arrived, but no thread had taken it
        }
        if (isPaced()) {
            return; // it was not sent again yet
        }
        if (!wentBefore && wentBack) {
            return; // a NAK had arrived, and all was sent again
        }
        long now = qp.hca.engine.now();
        if (!caughtUp && latest == 0) {
            latest = now + MOST_PUT_OFF * timeoutNanos();
        }
        if (!caughtUp && now < latest) {
            qp.hca.engine.schedule(timer, Math.min(latest - now, SOON));
            return;
        }
        latest = 0;
        qp.counters.count(Counter.LOCAL_ACK_TIMEOUT_ERR);
        if (retriesLeft-- <= 0) {
            if (!qp.migration.leavesBrokenPath()) {
                qp.counters.count(Counter.RETRY_EXCEEDED_ERR);
                failAt(psn, IbvWcStatus.IBV_WC_RETRY_EXC_ERR);
                return;
            }
            refill(); // the alternate path begins with all retries
        }
        wentBack = true;
        qp.requester.lost();
        qp.counters.count(Counter.COMPLETER_RETRY_ERR);
        qp.requester.goBack(psn);
        qp.hca.engine.ready(qp);
    }

    /** Notes that the peer has received everything before a PSN; an answer due before it may be lost. */
    private void progress(int end) {
        SendQueue sends = qp.sends;
        int acknowledged = unacknowledged;
        for (int i = 0; i < sends.size(); i++) {
            SendWqe wqe = sends.get(i);
            if (!wqe.started) {
                break;
            }
            if (wqe.done || wqe.psns == 0) {
                continue;
            }
            int covered = Math.min(Psn.countTo(end, wqe.firstPsn), wqe.psns);
            if (covered <= 0) {
                break;
            }
            if (wqe.isAnswered()) {
                acknowledged = Psn.plus(wqe.firstPsn, wqe.received);
                if (covered > wqe.received) {
                    settle(acknowledged);
                    retry(acknowledged);
                    return;
                }
            } else {
                acknowledged = Psn.plus(wqe.firstPsn, covered);
                wqe.sent = Math.max(wqe.sent, covered); // packets that did arrive need not be sent again
                wqe.done = covered == wqe.psns;
            }
        }
        settle(acknowledged);
    }

    /** Notes how far the peer has come, and completes the requests that are done. */
    private void settle(int acknowledged) {
        int packets = Psn.distance(acknowledged, unacknowledged);
        if (packets > 0) {
            unacknowledged = acknowledged;
            qp.requester.arrived(packets);
            refill();
            if (!isHeldBack) {
                stop();
            }
        }
        completeHead();
    }

    /** Handles data of a read, or the answer to an atomic, an atomic write or a flush. */
    void answered(Packet packet) {
        SendWqe wqe = firstUnanswered();
        if (wqe == null) {
            return;
        }
        int expected = Psn.plus(wqe.firstPsn, wqe.received);
        int ahead = Psn.distance(packet.psn, expected);
        if (ahead < 0 || Psn.distance(packet.psn, qp.requester.sentEnd()) >= 0) {
            return;
        }
        progress(expected);
        if (ahead > 0) {
            retry(expected);
        } else if (wqe.isAtomic() != (Opcode.operation(packet.opcode) == Opcode.RC_ATOMIC_ACK)) {
            fail(wqe, IbvWcStatus.IBV_WC_BAD_RESP_ERR);
        } else if (wqe.isAtomic()) {
            takeOriginal(wqe, packet);
        } else if (wqe.isAnsweredBare()) {
            takeBare(wqe, packet);
        } else {
            takeData(wqe, packet);
        }
        qp.hca.engine.ready(qp);
    }

    private @Nullable SendWqe firstUnanswered() {
        SendQueue sends = qp.sends;
        for (int i = 0; i < sends.size() && sends.get(i).started; i++) {
            SendWqe wqe = sends.get(i);
            if (!wqe.done && wqe.isAnswered() && wqe.sent > wqe.received) {
                return wqe;
            }
        }
        return null;
    }

    private void takeOriginal(SendWqe wqe, Packet packet) {
        Memory.putLong(qp.scratch(), packet.originalValue);
        finish(wqe, 1, wqe.copy(0, qp.scratch(), Long.BYTES, qp));
    }

    private void takeBare(SendWqe wqe, Packet packet) {
        if (packet.opcode != Opcode.RC_READ_RESPONSE_ONLY || packet.payloadLength != 0) {
            fail(wqe, IbvWcStatus.IBV_WC_BAD_RESP_ERR);
            return;
        }
        if (wqe.isFlush()) {
            qp.requester.flushAnswered();
        }
        finish(wqe, 1, true);
    }

    private void takeData(SendWqe wqe, Packet packet) {
        long offset = (long) wqe.received * qp.pathMtu;
        int psns = packet.psnCount;
        boolean last = wqe.received + psns == wqe.psns;
        long due = Math.min(wqe.length - offset, (long) psns * qp.pathMtu);
        if (psns > wqe.mostAsked() - wqe.received || packet.payloadLength != due || !wqe.isNext(packet.opcode, psns)) {
            fail(wqe, IbvWcStatus.IBV_WC_BAD_RESP_ERR);
            return;
        }
        wqe.sent = Math.max(wqe.sent, wqe.received + psns);
        boolean copied = packet.payloadLength == 0
                || wqe.copy(offset, packet.payload, packet.payloadLength, packet.placed, qp);
        if (last || !copied) {
            finish(wqe, psns, copied);
        } else {
            wqe.received += psns;
            settle(Psn.plus(wqe.firstPsn, wqe.received));
        }
    }

    private void finish(SendWqe wqe, int psns, boolean copied) {
        if (!copied) {
            fail(wqe, IbvWcStatus.IBV_WC_LOC_PROT_ERR);
            return;
        }
        wqe.received += psns;
        wqe.done = true;
        qp.requester.answered();
        settle(Psn.plus(wqe.firstPsn, wqe.received));
    }

    /** Fails the request with a PSN. */
    private void failAt(int psn, int status) {
        SendQueue sends = qp.sends;
        for (int i = 0; i < sends.size() && sends.get(i).started; i++) {
            SendWqe wqe = sends.get(i);
            int distance = Psn.distance(psn, wqe.firstPsn);
            if (!wqe.done && wqe.psns > 0 && distance >= 0 && distance < wqe.psns) {
                fail(wqe, status);
                return;
            }
        }
    }

    /** Fails a request. It completes when all requests before it have completed. No request after it is sent. */
    void fail(SendWqe wqe, int status) {
        wqe.status = status;
        wqe.done = true;
        qp.sends.stopAt(wqe);
        completeHead();
    }

    /** Ends a request that waits for nothing from the peer. */
    void finish(SendWqe wqe) {
        wqe.done = true;
        completeHead();
    }

    /**
     * Completes the requests at the head of the queue that are done. The first failure moves the queue pair to the
     * error state.
     */
    private void completeHead() {
        SendQueue sends = qp.sends;
        while (sends.size() > 0 && sends.get(0).done) {
            SendWqe wqe = sends.get(0);
            sends.pop(); // first: whatever is thrown below, no request completes twice
            boolean failed = wqe.hasFailed();
            qp.counted.sent(wqe.completionOpcode(), wqe.length, failed);
            if (failed || qp.signalsAll || wqe.is(IbvSendFlags.IBV_SEND_SIGNALED)) {
                qp.completeSend(wqe, wqe.status);
            } else {
                sends.occupied.doneUnsignaled();
                if (wqe.posted != null) {
                    qp.quiet.add(wqe.posted, sends.capacity());
                }
            }
            if (failed) {
                qp.toError();
                return;
            }
        }
    }

    /** Expires when the peer should have answered, or when it may have a receive again. */
    private final class Timer extends Event {
        @Override
        protected void happen() {
            timedOut();
        }

        @Override
        protected void failed() {
            qp.failed();
        }
    }
}
