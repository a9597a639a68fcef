package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.abi.IbvWrOpcode;

/** Turns the posted sends of a connected queue pair into packets, in order (IBA volume 1, 9.7.3 and 9.8.2). */
final class Requester {

    /**
     * Bytes that go from memory to memory in one step, after which others get the device. A queue pair or a region that
     * ends between two steps is noticed by the next: each packet looks for its queue pair and translates its addresses
     * anew.
     */
    static final int STEP = 1 << 20;
    /** The most PSNs a read asks for at once: far from half of the PSN space. */
    private static final int MOST = 1 << 16;

    private final Qp qp;
    private final Packet packet = new Packet(0);
    /** Where a payload is gathered that lies in several places. */
    private @Nullable MemorySegment staging;
    private int nextPsn;
    private int sentEnd;
    /** Reads and atomics on their way. */
    private int answersDue;
    private int sinceAckRequest;
    /** Whether the peer answers the packet that was sent last. */
    private boolean lastIsAnswered;
    /** Whether the next packet must ask for an acknowledgement. */
    private boolean mustAsk;
    /** The peer's window, while requests can be sent. */
    private @Nullable PeerWindow window;
    /** Packets on their way, as the window counts them. */
    private int onTheWay;
    /** Bytes that are left of this step. */
    private long left;
    /** Whether the next step waits until others had the device. */
    private boolean rests;

    private final Task nextStep = new Task() {
        @Override
        protected void run() {
            rests = false;
            qp.hca.engine.ready(qp);
        }
    };

    Requester(Qp qp) {
        this.qp = qp;
    }

    void start(int psn) {
        nextPsn = psn;
        sentEnd = psn;
        answersDue = 0;
        sinceAckRequest = 0;
        lastIsAnswered = true;
        mustAsk = false;
        join();
    }

    /** Shares the window of the peer from now on. */
    void join() {
        if (window == null || !window.isTo(qp.route.gidHigh, qp.route.gidLow)) {
            stop();
            window = qp.hca.windows.join(qp.route.gidHigh, qp.route.gidLow);
        }
    }

    /** Leaves the peer's window, as the queue pair sends no more. */
    void stop() {
        if (window != null) {
            takeBack(onTheWay);
            window.leave(qp);
            window = null;
        }
    }

    /** Counts packets as not on their way, because they arrived or are to be sent again. */
    private void takeBack(int packets) {
        if (window != null) {
            onTheWay -= packets;
            window.remove(packets);
        }
    }

    /**
     * The peer has answered as many packets more. Some of them can have been taken back before, when they seemed to be
     * lost.
     */
    void arrived(int packets) {
        if (window != null) {
            takeBack(isWaiting() ? Math.min(packets, onTheWay) : onTheWay);
            window.arrived(packets);
        }
    }

    /** Packets were lost on the way to the peer or back. */
    void lost() {
        if (window != null) {
            window.reduce();
        }
    }

    /** Whether packets are on their way that the peer has not acknowledged. */
    boolean isWaiting() {
        return Psn.distance(sentEnd, qp.completer.unacknowledged()) > 0;
    }

    /** The PSN of the next request that has none yet. */
    int nextPsn() {
        return nextPsn;
    }

    /** One past the last PSN that was ever sent. */
    int sentEnd() {
        return sentEnd;
    }

    /** The whole answer to a read or an atomic came. */
    void answered() {
        answersDue--;
    }

    /** Sends what it may, and from memory to memory no more than a step. */
    void run() {
        SendQueue sends = qp.sends;
        left = STEP;
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
     * Has the last packet sent again, with a request for an acknowledgement, where nothing follows it and it asked for
     * none: the packet that was to ask is not sent now. Without this, requests that the peer has done wait for the
     * timeout, and for ever without one. False if the peer answers anyway.
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

    /** Gives a request its PSNs, or does it if it is local, or fails it. False if it has to wait. */
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
                return fail(wqe, IbvWcStatus.IBV_WC_LOC_QP_OP_ERR); // no answer may ever be due
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

    /** Sends the next packet of a request. False if it has to wait. */
    private boolean send(SendWqe wqe, PeerWindow shared) {
        boolean reliable = qp.type == IbvQpType.IBV_QPT_RC;
        int share = shared.share(onTheWay);
        int room = share - onTheWay;
        if (reliable && room <= 0 && !mustAsk) {
            return askAgain();
        }
        if (qp.hca.link.mustWait(qp) || !reliable && shared.mustPause(qp)) {
            return false;
        }
        int psn = Psn.plus(wqe.firstPsn, wqe.sent);
        packet.psn = psn;
        packet.psnCount = 1;
        packet.payloadLength = 0;
        packet.solicited = false;
        qp.address(packet);
        int covered;
        if (wqe.isRead()) {
            covered = read(wqe, room);
        } else if (wqe.isAtomic()) {
            covered = atomic(wqe);
        } else {
            covered = data(wqe);
        }
        if (covered <= 0) {
            return false;
        }
        boolean last = wqe.sent + covered == wqe.psns;
        if (qp.hca.link.carriesWholeMessages()) {
            left -= packet.payloadLength;
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
        // The answer may come before this returns: nothing is touched after it that an answer touches too.
        if (rests) {
            qp.hca.engine.later(nextStep);
        }
        qp.send(packet);
        if (last && qp.type == IbvQpType.IBV_QPT_UC) {
            qp.completer.finish(wqe);
        }
        return true;
    }

    /**
     * An acknowledgement covers all before it, so one is asked for where nothing follows at once, and four times in a
     * share of the window.
     */
    private boolean wantsAck(boolean last, int covered, int share, int room) {
        sinceAckRequest += covered;
        boolean more = qp.state == IbvQpState.IBV_QPS_RTS && isFollowed();
        if (last && !more || covered >= room || rests || mustAsk || sinceAckRequest >= share / 4) {
            sinceAckRequest = 0;
            mustAsk = false;
            return true;
        }
        return false;
    }

    /** Whether the peer gets another request behind the one at the cursor. */
    private boolean isFollowed() {
        SendQueue sends = qp.sends;
        for (int i = sends.cursor() + 1; i < sends.size() && !sends.get(i).hasFailed(); i++) {
            if (!sends.get(i).isLocal()) {
                return true;
            }
        }
        return false;
    }

    private int read(SendWqe wqe, int room) {
        if (wqe.sent != wqe.received) {
            return 0; // a part of it is on its way
        }
        // The rest is asked for when this has come.
        int covered = wqe.ask(qp.hca.link.carriesWholeMessages() ? MOST : room);
        long offset = (long) wqe.sent * qp.pathMtu;
        packet.opcode = Opcode.RC_READ_REQUEST;
        packet.remoteAddress = wqe.remoteAddress + offset;
        packet.rkey = wqe.rkey;
        packet.dmaLength = (int) Math.min(wqe.length - offset, (long) covered * qp.pathMtu);
        return covered;
    }

    private int atomic(SendWqe wqe) {
        boolean swap = wqe.opcode == IbvWrOpcode.IBV_WR_ATOMIC_CMP_AND_SWP;
        packet.opcode = swap ? Opcode.RC_COMPARE_SWAP : Opcode.RC_FETCH_ADD;
        packet.remoteAddress = wqe.remoteAddress;
        packet.rkey = wqe.rkey;
        packet.swapOrAdd = swap ? wqe.swap : wqe.compareOrAdd;
        packet.compare = swap ? wqe.compareOrAdd : 0;
        return 1;
    }

    private int data(SendWqe wqe) {
        int mtu = qp.pathMtu;
        long offset = (long) wqe.sent * mtu;
        long left = wqe.length - offset;
        int covered = 1;
        long bytes = Math.min(left, mtu);
        long place = MemoryKey.NONE;
        if (left > mtu && qp.hca.link.carriesWholeMessages()) {
            int most = Math.min(wqe.psns - wqe.sent, STEP / mtu);
            long all = Math.min(left, (long) most * mtu);
            place = wqe.contiguous(offset, all, qp);
            if (place != MemoryKey.NONE) {
                covered = most;
                bytes = all;
            }
        }
        if (place == MemoryKey.NONE) {
            place = wqe.contiguous(offset, bytes, qp);
        }
        if (place == MemoryKey.NONE) {
            place = staging();
            if (!wqe.copy(offset, place, bytes, qp)) {
                qp.completer.fail(wqe, IbvWcStatus.IBV_WC_LOC_PROT_ERR);
                return 0;
            }
        }
        packet.payload = place;
        packet.payloadLength = (int) bytes;
        packet.psnCount = covered;
        boolean first = wqe.sent == 0;
        boolean last = wqe.sent + covered == wqe.psns;
        packet.opcode = (qp.type == IbvQpType.IBV_QPT_UC ? Opcode.UC : Opcode.RC) | wqe.packetOpcode(first, last);
        packet.immediate = wqe.immediate;
        packet.solicited = last && wqe.is(IbvSendFlags.IBV_SEND_SOLICITED);
        if (wqe.isWrite() && first) {
            packet.remoteAddress = wqe.remoteAddress;
            packet.rkey = wqe.rkey;
            packet.dmaLength = (int) wqe.length;
        }
        return covered;
    }

    private long staging() {
        if (staging == null) {
            staging = Arena.ofAuto().allocate(4096, 8);
        }
        return staging.address();
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
    }
}
