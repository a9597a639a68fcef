package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcStatus;

/** Turns the posted sends of a connected queue pair into packets, in order (IBA volume 1, 9.7.3 and 9.8.2). */
final class Requester {

    /**
     * The bytes that go from memory to memory in one step, after which other threads get the device. The next step
     * notices a queue pair or region that ended in between: each packet looks up its queue pair and translates its
     * addresses anew.
     */
    static final int STEP = 1 << 20;

    private final Qp qp;
    private final Packet packet = new Packet(0);
    private final RequestPackets packets;
    private final EarlyCopy early;
    private int nextPsn;
    private int sentEnd;
    /** Reads, atomics, atomic writes and flushes in flight. */
    private int answersDue;
    private int sinceAckRequest;
    /** True if the peer answers the packet that was sent last. */
    private boolean lastIsAnswered;
    /** True if the next packet must request an acknowledgement. */
    private boolean mustAsk;
    /** True if flushes get the ICRC of Soft-RoCE. */
    private boolean flushesTwice;
    /** True if the peer has answered a flush, so that its ICRC is the one that the peer takes. */
    private boolean knowsFlushes;
    /** The peer's window, while requests can be sent. */
    private @Nullable PeerWindow window;
    /** The packets in flight, as counted by the window. */
    private int onTheWay;
    /** The bytes left in this step, which ends with the last request or with a rest. */
    private long left = STEP;
    /** True if the next step waits until other threads had the device. */
    private boolean rests;

    private final Task nextStep = new Task() {
        @Override
        protected void run() {
            rests = false;
            left = STEP;
            qp.hca.engine.ready(qp);
        }
    };

    Requester(Qp qp) {
        this.qp = qp;
        this.packets = new RequestPackets(qp, packet);
        this.early = new EarlyCopy(qp, this);
    }

    void start(int psn) {
        nextPsn = psn;
        sentEnd = psn;
        answersDue = 0;
        sinceAckRequest = 0;
        lastIsAnswered = true;
        mustAsk = false;
        flushesTwice = false;
        knowsFlushes = false;
        early.cancel();
        join();
    }

    /** Shares the window of the peer from now on. */
    void join() {
        if (window == null || !window.isTo(qp.route.gidHigh, qp.route.gidLow)) {
            stop();
            window = qp.hca.windows.join(qp.route.gidHigh, qp.route.gidLow);
        }
    }

    /** Leaves the peer's window: the queue pair sends no more. */
    void stop() {
        early.cancel();
        if (window != null) {
            takeBack(onTheWay);
            window.leave(qp);
            window = null;
        }
    }

    /** Uncounts packets in flight, because they arrived or are to be sent again. */
    private void takeBack(int packets) {
        if (window != null) {
            onTheWay -= packets;
            window.remove(packets);
        }
    }

    /**
     * Notes that the peer has answered further packets. Some of them may have been taken back before, when they seemed
     * to be lost.
     */
    void arrived(int packets) {
        if (window != null) {
            takeBack(isWaiting() ? Math.min(packets, onTheWay) : onTheWay);
            window.arrived(packets);
        }
    }

    /** Notes that packets were lost on the way to the peer or back. */
    void lost() {
        if (window != null) {
            window.reduce();
        }
    }

    /** Tells whether packets are in flight that the peer has not acknowledged. */
    boolean isWaiting() {
        return Psn.distance(sentEnd, qp.completer.unacknowledged()) > 0;
    }

    /** Tells whether no packet is on the way. */
    boolean isIdle() {
        return onTheWay == 0;
    }

    /** Returns the first PSN that no request has. */
    int nextPsn() {
        return nextPsn;
    }

    /** Returns the PSN after the last one that was ever sent. */
    int sentEnd() {
        return sentEnd;
    }

    /**
     * Tells whether the peer owes neither an answer nor an acknowledgement, so that no timer runs. The request at the
     * cursor has begun, and the answer to a part of it that is yet to be sent does not count.
     */
    boolean isQuietBefore(SendWqe wqe) {
        return answersDue == (wqe.isAnswered() ? 1 : 0) && !isWaiting();
    }

    /** Tells whether nothing is under way, so that the next request may be carried out directly. */
    boolean isFree() {
        return window != null && answersDue == 0 && onTheWay == 0 && !mustAsk && !rests
                && nextPsn == sentEnd && nextPsn == qp.completer.unacknowledged();
    }

    /** Notes a request that was carried out directly, as if its packet had been sent and acknowledged. */
    void sentDirectly(int psns) {
        nextPsn = Psn.plus(nextPsn, psns);
        sentEnd = nextPsn;
        sinceAckRequest = 0;
        lastIsAnswered = true;
    }

    /** Notes that the whole answer to a request came. */
    void answered() {
        answersDue--;
    }

    /** Sends what the window permits; from memory to memory no more than one step. */
    void run() {
        sendStep();
        // A limited rate gives the device away between packets.
        if (qp.sends.cursor() == qp.sends.size() || qp.pacer.isHolding()) {
            left = STEP;
        }
    }

    private void sendStep() {
        SendQueue sends = qp.sends;
        while (sends.cursor() < sends.size() && qp.maySend() && window != null && !rests) {
            SendWqe wqe = sends.get(sends.cursor());
            if (wqe.hasFailed() || !wqe.started && qp.state == IbvQpState.IBV_QPS_SQD) {
                if (!askAgain()) {
                    break;
                }
            } else if (wqe.done) {
                sends.advance();
            } else if (!wqe.started && !start(wqe)) {
                break;
            } else if (!wqe.done && !send(wqe, window) && !wqe.hasFailed()) {
                break;
            }
        }
    }

    /**
     * Repeats the last packet with a request for an acknowledgement, if no packet follows it and it did not request
     * one. This happens when the packet that should have requested one is not sent now. Without this, requests that the
     * peer has carried out would wait for the timeout, and without a timeout for ever. Returns false if the peer
     * answers anyway.
     */
    private boolean askAgain() {
        if (lastIsAnswered) {
            return false;
        }
        lastIsAnswered = true;
        SendQueue sends = qp.sends;
        SendWqe partial = sends.get(sends.cursor());
        boolean begun = partial.started && !partial.done && !partial.isAnswered() && partial.sent > 0;
        for (int i = begun ? sends.cursor() : sends.cursor() - 1; i >= 0; i--) {
            SendWqe wqe = sends.get(i);
            if (!wqe.done) {
                mustAsk = !wqe.isAnswered();
                if (mustAsk) {
                    wqe.sent--;
                    sends.backTo(i);
                    takeBack(Math.min(1, onTheWay));
                }
                return mustAsk;
            }
        }
        return false;
    }

    /** Gives a request its PSNs, or carries it out if it is local, or fails it. Returns false if it must wait. */
    private boolean start(SendWqe wqe) {
        if (wqe.is(IbvSendFlags.IBV_SEND_FENCE) && answersDue > 0) {
            return false;
        }
        if (wqe.isLocal()) {
            int injected = qp.hca.injected(wqe.completionOpcode());
            int status = injected == IbvWcStatus.IBV_WC_SUCCESS ? qp.windows.execute(wqe) : injected;
            if (status != IbvWcStatus.IBV_WC_SUCCESS) {
                return fail(wqe, status);
            }
            wqe.started = true;
            wqe.psns = 0;
            qp.completer.finish(wqe);
            return true;
        }
        if (wqe.length > Hca.MAX_MESSAGE) {
            return fail(wqe, IbvWcStatus.IBV_WC_LOC_LEN_ERR);
        }
        if (!wqe.isAllowed(qp)) {
            return fail(wqe, IbvWcStatus.IBV_WC_LOC_PROT_ERR);
        }
        if (wqe.isAnswered()) {
            if (qp.maxReadAtomic == 0) {
                return fail(wqe, IbvWcStatus.IBV_WC_LOC_QP_OP_ERR); // it permits none of these operations
            }
            if (answersDue >= qp.maxReadAtomic) {
                return false;
            }
        }
        int injected = qp.hca.injected(wqe.completionOpcode());
        if (injected != IbvWcStatus.IBV_WC_SUCCESS) {
            return fail(wqe, injected);
        }
        if (wqe.isAnswered()) {
            answersDue++;
        }
        wqe.started = true;
        wqe.firstPsn = nextPsn;
        wqe.psns = wqe.isAtomic() ? 1 : Psn.count(wqe.length, qp.pathMtu);
        nextPsn = Psn.plus(nextPsn, wqe.psns);
        return true;
    }

    private boolean fail(SendWqe wqe, int status) {
        wqe.started = true;
        wqe.psns = 0;
        qp.completer.fail(wqe, status);
        return true;
    }

    /** Sends the next packet of a request. Returns false if it must wait. */
    private boolean send(SendWqe wqe, PeerWindow shared) {
        boolean reliable = qp.isReliable();
        int share = shared.share(onTheWay);
        int room = share - onTheWay;
        if (reliable && room <= 0 && !mustAsk) {
            return askAgain();
        }
        if (qp.hca.link.mustWait(qp)) {
            return false;
        }
        if (!mustAsk && qp.pacer.mustWait()) {
            return reliable && askAgain();
        }
        if (!reliable && shared.mustPause(qp) || isLong(wqe) && early.mustWait(wqe)) {
            return false;
        }
        int psn = Psn.plus(wqe.firstPsn, wqe.sent);
        packet.psn = psn;
        packet.psnCount = 1;
        packet.payloadLength = 0;
        packet.solicited = false;
        packet.sharedQueue = wqe.sharedQueue;
        packet.summedTwice = wqe.isFlush() && flushesTwice;
        qp.address(packet);
        int covered;
        if (wqe.isRead()) {
            covered = packets.read(wqe, room, isLong(wqe) && early.isStep());
        } else if (wqe.isAtomic()) {
            covered = packets.atomic(wqe);
        } else if (wqe.isAtomicWrite()) {
            covered = packets.atomicWrite(wqe);
        } else if (wqe.isFlush()) {
            covered = packets.flush(wqe);
        } else {
            covered = packets.data(wqe);
        }
        if (covered <= 0) {
            return false;
        }
        boolean last = wqe.sent + covered == wqe.psns;
        packet.placed = 0;
        if (isLong(wqe)) {
            early.fill(packet, wqe);
        }
        if (qp.hca.link.carriesWholeMessages()) {
            left -= wqe.isRead() && packet.placed != 0 ? packet.dmaLength : packet.payloadLength;
            rests = left <= 0 && !(last && qp.sends.cursor() + 1 == qp.sends.size());
        }
        packet.ackRequest = reliable && wantsAck(last, covered, share, room);
        if (reliable) {
            lastIsAnswered = packet.ackRequest || wqe.isAnswered();
            onTheWay += covered;
            shared.add(covered);
        }
        wqe.sent += covered;
        int before = Psn.distance(sentEnd, psn);
        if (before > 0) {
            qp.counters.count(Counter.RETRANS_PKTS, Math.min(before, covered));
        }
        int end = Psn.plus(psn, covered);
        if (Psn.distance(end, sentEnd) > 0) {
            sentEnd = end;
        }
        if (last) {
            qp.sends.advance();
        }
        // The answer may come before send() returns: after it, this method changes nothing that an answer changes, too.
        if (rests) {
            qp.hca.engine.later(nextStep);
        }
        qp.pacer.sends(packet.payloadLength);
        qp.send(packet);
        if (last && qp.type == IbvQpType.IBV_QPT_UC) {
            qp.completer.finish(wqe);
        }
        return true;
    }

    /**
     * Tells whether a packet requests an acknowledgement. An acknowledgement covers all packets before it, so one is
     * requested if no packet follows at once, as at a limited rate, and four times in a share of the window.
     */
    private boolean wantsAck(boolean last, int covered, int share, int room) {
        sinceAckRequest += covered;
        boolean more = qp.state == IbvQpState.IBV_QPS_RTS && isFollowed();
        boolean pauses = rests || qp.pacer.isLimited();
        if (last && !more || covered >= room || pauses || mustAsk || sinceAckRequest >= share / 4) {
            sinceAckRequest = 0;
            mustAsk = false;
            return true;
        }
        return false;
    }

    private static boolean isLong(SendWqe wqe) {
        return wqe.length >= EarlyCopy.LEAST;
    }

    /**
     * Tells whether the peer gets another request at once after the one at the cursor. A request that may be copied
     * early does not follow at once.
     */
    private boolean isFollowed() {
        SendQueue sends = qp.sends;
        for (int i = sends.cursor() + 1; i < sends.size() && !sends.get(i).hasFailed(); i++) {
            if (!sends.get(i).isLocal()) {
                return !(isLong(sends.get(i)) && early.mayConcern(sends.get(i)));
            }
        }
        return false;
    }

    /** Sends again from a PSN on (go-back-N, IBA volume 1, 9.7.5.1.2). */
    void goBack(int psn) {
        takeBack(onTheWay);
        SendQueue sends = qp.sends;
        int cursor = sends.size();
        for (int i = 0; i < sends.size(); i++) {
            SendWqe wqe = sends.get(i);
            if (!wqe.started || wqe.hasFailed()) {
                cursor = Math.min(cursor, i);
                break;
            }
            if (wqe.done || wqe.psns == 0) {
                continue;
            }
            int sent = Math.max(0, Psn.distance(psn, wqe.firstPsn));
            if (sent < wqe.psns) {
                wqe.sent = wqe.isRead() ? wqe.received : sent;
                cursor = Math.min(cursor, i);
            }
        }
        sends.backTo(cursor);
        // The peer drops a flush whose ICRC it does not take, and can't say so.
        if (!knowsFlushes && cursor < sends.size() && sends.get(cursor).started && sends.get(cursor).isFlush()) {
            flushesTwice = !flushesTwice;
        }
    }

    /** Notes that the peer has answered a flush. */
    void flushAnswered() {
        knowsFlushes = true;
    }
}
