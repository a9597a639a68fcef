package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Event;
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

    /** The most PSNs a packet that carries a whole message takes: far from half of the PSN space. */
    static final int WHOLE = 1 << 16;
    /** How long UC pauses after half a window of packets, in nanoseconds: a receiver that sleeps between its looks wakes within that. */
    private static final long PAUSE = 1_000_000;

    private final Qp qp;
    private final Packet packet = new Packet(0);
    /** Where a payload is gathered that lies in several places. */
    private @Nullable MemorySegment staging;
    /** The PSN of the next request that has none yet. */
    int nextPsn;
    /** One past the last PSN that was ever sent. */
    int sentEnd;
    /** The first PSN that the peer has not acknowledged. */
    int unacknowledged;
    /** Reads and atomics on their way. */
    int answersDue;
    private int sinceAckRequest;
    /** Whether the peer answers the packet that was sent last. */
    private boolean lastIsAnswered;
    /** Whether the next packet must ask for an acknowledgement. */
    private boolean mustAsk;
    /** Packets of UC since the last pause. */
    private int burst;

    private final Event pause = new Event() {
        @Override
        protected void happen() {
            burst = 0;
            qp.hca.engine.ready(qp);
        }
    };

    Requester(Qp qp) {
        this.qp = qp;
    }

    void start(int psn) {
        nextPsn = psn;
        sentEnd = psn;
        unacknowledged = psn;
        answersDue = 0;
        sinceAckRequest = 0;
        lastIsAnswered = true;
        mustAsk = false;
        stop();
    }

    /** Ends a pause, as the queue pair sends no more. */
    void stop() {
        burst = 0;
        qp.hca.engine.cancel(pause);
    }

    /** Whether packets are on their way that the peer has not acknowledged. */
    boolean isWaiting() {
        return Psn.distance(sentEnd, unacknowledged) > 0;
    }

    /** Sends what it may. */
    void run() {
        SendQueue sends = qp.sends;
        while (sends.cursor < sends.size() && qp.maySend()) {
            SendWqe wqe = sends.get(sends.cursor);
            if (wqe.hasFailed() || !wqe.started && qp.state == IbvQpState.IBV_QPS_SQD) {
                if (!askAgain()) {
                    break;
                }
            } else if (wqe.done) {
                sends.cursor++;
            } else if (!wqe.started && !start(wqe)) {
                break;
            } else if (!wqe.done && !send(wqe) && !wqe.hasFailed()) {
                break;
            }
        }
    }

    /**
     * Has the last packet sent again, with a request for an acknowledgement, where nothing follows it and it asked for none: the packet
     * that was to ask is not sent now. Without this, requests that the peer has done wait for the timeout, and for ever without one.
     * False if the peer answers anyway.
     */
    private boolean askAgain() {
        if (lastIsAnswered) {
            return false;
        }
        lastIsAnswered = true;
        SendQueue sends = qp.sends;
        SendWqe partial = sends.get(sends.cursor);
        if (partial.started && !partial.done && !partial.isAnswered() && partial.sent > 0) {
            partial.sent--;
            mustAsk = true;
            return true;
        }
        for (int i = sends.cursor - 1; i >= 0; i--) {
            SendWqe before = sends.get(i);
            if (!before.done) {
                if (before.isAnswered()) {
                    return false;
                }
                before.sent = before.psns - 1;
                sends.cursor = i;
                mustAsk = true;
                return true;
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
            int status = qp.windows.execute(wqe);
            if (status != IbvWcStatus.IBV_WC_SUCCESS) {
                return fail(wqe, status);
            }
            wqe.started = true;
            wqe.psns = 0;
            wqe.done = true;
            qp.completer.completeHead();
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
    private boolean send(SendWqe wqe) {
        int psn = Psn.plus(wqe.firstPsn, wqe.sent);
        int window = qp.hca.link.window() - Psn.distance(psn, unacknowledged);
        if (qp.type == IbvQpType.IBV_QPT_RC && window <= 0 && !mustAsk) {
            return askAgain();
        }
        if (qp.hca.link.mustWait(qp)) {
            return false;
        }
        if (qp.type == IbvQpType.IBV_QPT_UC && mustPause()) {
            return false;
        }
        packet.psn = psn;
        packet.psnCount = 1;
        packet.payloadLength = 0;
        packet.solicited = false;
        qp.address(packet);
        int covered;
        if (wqe.isRead()) {
            covered = read(wqe, window);
        } else if (wqe.isAtomic()) {
            covered = atomic(wqe);
        } else {
            covered = data(wqe);
        }
        if (covered <= 0) {
            return false;
        }
        boolean last = wqe.sent + covered == wqe.psns;
        if (qp.type == IbvQpType.IBV_QPT_RC) {
            packet.ackRequest = wantsAck(last, covered) || mustAsk;
            lastIsAnswered = packet.ackRequest || wqe.isAnswered();
            mustAsk = false;
        } else {
            packet.ackRequest = false;
        }
        wqe.sent += covered;
        int end = Psn.plus(psn, covered);
        if (Psn.distance(end, sentEnd) > 0) {
            sentEnd = end;
        }
        if (last) {
            qp.sends.cursor++;
        }
        // The answer may come before this returns: nothing is touched after it that an answer touches too.
        qp.hca.link.send(packet);
        if (last && qp.type == IbvQpType.IBV_QPT_UC) {
            wqe.done = true;
            qp.completer.completeHead();
        }
        return true;
    }

    /** Nobody acknowledges packets of UC, so that nothing else would keep a long message from overrunning the peer's socket. */
    private boolean mustPause() {
        if (qp.hca.link.carriesWholeMessages() || burst++ < qp.hca.link.window() / 2) {
            return false;
        }
        if (!pause.isScheduled()) {
            qp.hca.engine.schedule(pause, PAUSE);
        }
        return true;
    }

    /** An acknowledgement covers all before it, so one is asked for where nothing follows, and now and then. */
    private boolean wantsAck(boolean last, int covered) {
        sinceAckRequest += covered;
        boolean more = qp.state == IbvQpState.IBV_QPS_RTS && isFollowed();
        if (last && !more || sinceAckRequest >= qp.hca.link.window() / 4) {
            sinceAckRequest = 0;
            return true;
        }
        return false;
    }

    /** Whether the peer gets another request behind the one at the cursor. */
    private boolean isFollowed() {
        SendQueue sends = qp.sends;
        for (int i = sends.cursor + 1; i < sends.size() && !sends.get(i).hasFailed(); i++) {
            if (!sends.get(i).isLocal()) {
                return true;
            }
        }
        return false;
    }

    private int read(SendWqe wqe, int window) {
        if (wqe.sent != wqe.received) {
            return 0; // a part of it is on its way
        }
        // The rest is asked for when this has come.
        int covered = Math.min(wqe.psns - wqe.sent, qp.hca.link.carriesWholeMessages() ? WHOLE : window);
        int again = Psn.distance(sentEnd, packet.psn);
        if (again > 0) {
            // The peer has answered a part of it before, and drops what reaches beyond that (IBA volume 1, 9.7.5.1.4).
            covered = Math.min(covered, again);
        }
        wqe.ask(again > 0);
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
            int most = Math.min(wqe.psns - wqe.sent, WHOLE);
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
        packet.opcode = opcode(wqe, first, last);
        packet.immediate = wqe.immediate;
        packet.solicited = last && wqe.is(IbvSendFlags.IBV_SEND_SOLICITED);
        if (wqe.isWrite() && first) {
            packet.remoteAddress = wqe.remoteAddress;
            packet.rkey = wqe.rkey;
            packet.dmaLength = (int) wqe.length;
        }
        return covered;
    }

    private int opcode(SendWqe wqe, boolean first, boolean last) {
        int opcode;
        if (wqe.opcode == IbvWrOpcode.IBV_WR_SEND_WITH_INV && last) {
            opcode = first ? Opcode.RC_SEND_ONLY_INVALIDATE : Opcode.RC_SEND_LAST_INVALIDATE;
        } else if (wqe.isWrite()) {
            int only = wqe.hasImmediate() ? Opcode.RC_WRITE_ONLY_IMMEDIATE : Opcode.RC_WRITE_ONLY;
            int end = wqe.hasImmediate() ? Opcode.RC_WRITE_LAST_IMMEDIATE : Opcode.RC_WRITE_LAST;
            opcode = first ? last ? only : Opcode.RC_WRITE_FIRST : last ? end : Opcode.RC_WRITE_MIDDLE;
        } else {
            int only = wqe.hasImmediate() ? Opcode.RC_SEND_ONLY_IMMEDIATE : Opcode.RC_SEND_ONLY;
            int end = wqe.hasImmediate() ? Opcode.RC_SEND_LAST_IMMEDIATE : Opcode.RC_SEND_LAST;
            opcode = first ? last ? only : Opcode.RC_SEND_FIRST : last ? end : Opcode.RC_SEND_MIDDLE;
        }
        return qp.type == IbvQpType.IBV_QPT_UC ? Opcode.UC | opcode : opcode;
    }

    private long staging() {
        if (staging == null) {
            staging = Arena.ofAuto().allocate(4096, 8);
        }
        return staging.address();
    }

    /** Sends again from a PSN on (go-back-N, IBA volume 1, 9.7.5.1.2). */
    void goBack(int psn) {
        SendQueue sends = qp.sends;
        sends.cursor = sends.size();
        for (int i = 0; i < sends.size(); i++) {
            SendWqe wqe = sends.get(i);
            if (!wqe.started || wqe.hasFailed()) {
                sends.cursor = Math.min(sends.cursor, i);
                break;
            }
            if (wqe.done || wqe.psns == 0) {
                continue;
            }
            int sent = Math.max(0, Psn.distance(psn, wqe.firstPsn));
            if (sent < wqe.psns) {
                wqe.sent = wqe.isRead() ? wqe.received : sent;
                sends.cursor = Math.min(sends.cursor, i);
            }
        }
    }
}
