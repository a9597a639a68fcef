package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.engine.Event;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;

/**
 * Queues the answers that a reliable queue pair owes its peer, in the order of their PSNs. A small request may ask for
 * gigabytes. Read data goes out one window at a time, with a pause in which other threads get the device, so that no
 * packet occupies it for longer than that. The queue is bounded by the number of reads and atomics that the queue pair
 * accepts at once (IBA volume 1, 9.7.4.1.6).
 */
final class AnswerQueue extends Event {

    /** The pause between two windows in nanoseconds; short compared with the time to send one. */
    private static final long PAUSE = 20_000;

    /** The data of a read, which can be empty, or the old value of an atomic. */
    private static final class Due {
        /** Whose memory is read. */
        KeyUser user;
        boolean isRead;
        int psn;
        int psns;
        int sent;
        int msn;
        int rkey;
        long address;
        long length;
        long value;

        Due(KeyUser user) {
            this.user = user;
        }
    }

    private final Qp qp;
    /** True if the next step of a copy waits until other threads had the device. */
    private boolean rests;

    private final Task nextStep = new Task() {
        @Override
        protected void run() {
            rests = false;
            work();
        }

        @Override
        protected void failed() {
            qp.failed();
        }
    };

    private final Packet packet = new Packet(0);
    /**
     * Where the data of the only answer is already, and where it was copied from; 0 if the peer copies it. Set while
     * {@link #addRead} runs alone: an answer that goes out later is copied then.
     */
    private long placed;

    private long placedFrom;
    /** Grows to the largest number of answers that were ever due at once. */
    private Due[] ring = {};
    private int depth;
    private int head;
    private int size;
    private int msn;
    // An acknowledgement that must not overtake due answers, or that waits to cover more packets.
    private boolean acknowledges;
    private int acknowledgedPsn;
    private int acknowledgedSyndrome;

    AnswerQueue(Qp qp) {
        this.qp = qp;
    }

    /** @param most how many reads and atomics may be due at once */
    void start(int most) {
        stop();
        msn = 0;
        depth = most;
        ring = new Due[0];
    }

    private void grow() {
        var larger = new Due[Math.min(Math.max(4, 2 * ring.length), depth)];
        for (int i = 0; i < larger.length; i++) {
            larger[i] = i < size ? ring[(head + i) % ring.length] : new Due(qp);
        }
        ring = larger;
        head = 0;
    }

    /** Drops all due answers. */
    void stop() {
        qp.hca.engine.cancel(this);
        head = 0;
        size = 0;
        acknowledges = false;
    }

    /** Counts a completed request. */
    void countMessage() {
        msn = Psn.plus(msn, 1);
    }

    /** Tells whether answers wait. */
    boolean isBusy() {
        return size > 0;
    }

    /** Tells whether answers or an acknowledgement wait. */
    boolean isDue() {
        return size > 0 || acknowledges;
    }

    /** Tells whether the answer to a request that comes now goes out at once. */
    boolean isReady() {
        return size == 0 && !rests && !isScheduled() && !mustWait();
    }

    boolean isFull() {
        return size == depth;
    }

    /** Drops the answers from a PSN on, since the peer asks for them again. */
    void cut(int psn) {
        while (size > 0) {
            Due last = ring[(head + size - 1) % ring.length];
            if (Psn.distance(Psn.plus(last.psn, last.psns - 1), psn) < 0) {
                return;
            }
            size--;
        }
    }

    /**
     * Sends an AETH with a syndrome after the due answers. On a link where packets arrive in batches, an ACK waits
     * until the whole batch has been taken: the ACK for the last PSN covers all (IBA volume 1, 9.7.5.1.2).
     */
    void acknowledge(int psn, int syndrome) {
        if (!acknowledges || Psn.distance(psn, acknowledgedPsn) >= 0) {
            acknowledges = true;
            acknowledgedPsn = psn;
            acknowledgedSyndrome = syndrome;
        }
        if (syndrome == Nak.ACK && !qp.hca.link.carriesWholeMessages()) {
            qp.hca.engine.ready(qp);
        } else {
            acknowledgeNow();
        }
    }

    /** Sends the waiting acknowledgement, unless answers wait before it. */
    void acknowledgeNow() {
        if (acknowledges && !isBusy()) {
            acknowledges = false;
            prepare(Opcode.RC_ACK, acknowledgedPsn, msn);
            packet.syndrome = acknowledgedSyndrome;
            qp.send(packet);
        }
    }

    /** Queues the data of a read that was checked; the queue must not be full. */
    void addRead(Packet request, KeyUser user) {
        Due due = add(request.psn);
        due.user = user;
        due.isRead = true;
        due.rkey = request.rkey;
        due.address = request.remoteAddress;
        due.length = Integer.toUnsignedLong(request.dmaLength);
        due.psns = Psn.count(due.length, qp.pathMtu);
        placed = size == 1 ? request.placed : 0;
        placedFrom = request.payload;
        try {
            workUnlessPausing();
        } finally {
            placed = 0;
        }
    }

    /** Queues the old value of an atomic; the queue must not be full. */
    void addAtomic(int psn, long before) {
        Due due = add(psn);
        due.isRead = false;
        due.psns = 1;
        due.value = before;
        workUnlessPausing();
    }

    /** Queues a response without data; the queue must not be full. */
    void addBare(int psn) {
        Due due = add(psn);
        due.isRead = true; // of no bytes
        due.length = 0;
        due.psns = 1;
        workUnlessPausing();
    }

    private Due add(int psn) {
        acknowledgeNow();
        if (size == ring.length) {
            grow();
        }
        Due due = ring[(head + size++) % ring.length];
        due.psn = psn;
        due.sent = 0;
        due.msn = msn;
        return due;
    }

    private void workUnlessPausing() {
        if (!isScheduled() && !rests) {
            work();
        }
    }

    @Override
    protected void happen() {
        work();
    }

    @Override
    protected void failed() {
        qp.failed();
    }

    /** Returns a PSN of the next answer; there must be one. */
    int nextPsn() {
        Due due = ring[head];
        return Psn.plus(due.psn, Math.min(due.sent, due.psns - 1));
    }

    /**
     * Sends what the window permits. If the queue pair is connected to itself, a packet of this may end the queue pair.
     */
    private void work() {
        boolean copies = qp.hca.link.carriesWholeMessages();
        int left = copies ? Requester.STEP / qp.pathMtu : qp.hca.link.window();
        while (size > 0 && left > 0 && !mustWait()) {
            Due due = ring[head];
            left -= due.isRead ? sendData(due, left) : sendValue(due);
            if (size > 0 && due.sent == due.psns) {
                head = (head + 1) % ring.length;
                size--;
            }
        }
        if (size > 0 && copies && qp.pacer.answerWait() == 0) {
            if (!rests) {
                rests = true;
                qp.hca.engine.later(nextStep);
            }
        } else if (size > 0) {
            qp.hca.engine.schedule(this, Math.max(PAUSE, qp.pacer.answerWait()));
        } else {
            acknowledgeNow();
        }
    }

    /** Tells whether the next packet must wait for the socket or for the rate of the congestion control. */
    private boolean mustWait() {
        return qp.hca.link.mustWait(qp) || qp.pacer.answerWait() > 0;
    }

    private int sendValue(Due due) {
        due.sent = 1;
        prepare(Opcode.RC_ATOMIC_ACK, due.psn, due.msn);
        packet.originalValue = due.value;
        qp.send(packet);
        return 1;
    }

    /**
     * Sends at most this many packets of the path MTU, or one packet with as much data. Returns the number of packets.
     */
    private int sendData(Due due, int most) {
        int mtu = qp.pathMtu;
        long before = (long) due.sent * mtu;
        long rest = due.length - before;
        long now = Math.min(rest, (long) most * mtu);
        long from = now == 0 ? 0 : source(due.rkey, due.address + before, now, due.user);
        if (from == MemoryKey.NONE) {
            qp.responder.endAccess(Psn.plus(due.psn, due.sent)); // the region was deregistered in the meantime
            return 1;
        }
        qp.hca.touched(from, now, false);
        boolean copies = qp.hca.link.carriesWholeMessages();
        int packets = 0;
        while (size > 0 && due.sent < due.psns && packets < most && !mustWait()) {
            int covered = copies ? Math.min(most - packets, due.psns - due.sent) : 1;
            int length = (int) Math.min(rest, (long) covered * mtu);
            prepare(opcode(due.sent == 0, due.sent + covered == due.psns), Psn.plus(due.psn, due.sent), due.msn);
            packet.psnCount = covered;
            packet.payload = from;
            packet.payloadLength = length;
            packet.placed = from == placedFrom ? placed : 0;
            due.sent += covered;
            from += length;
            rest -= length;
            packets += covered;
            qp.pacer.answers(length);
            qp.send(packet);
        }
        return packets;
    }

    /** Returns the native address of bytes that the peer may read, or {@link MemoryKey#NONE}. */
    private long source(int rkey, long address, long bytes, KeyUser user) {
        return qp.hca.keys.translate(rkey, address, bytes, IbvAccessFlags.IBV_ACCESS_REMOTE_READ, user);
    }

    private static int opcode(boolean begins, boolean ends) {
        if (begins) {
            return ends ? Opcode.RC_READ_RESPONSE_ONLY : Opcode.RC_READ_RESPONSE_FIRST;
        }
        return ends ? Opcode.RC_READ_RESPONSE_LAST : Opcode.RC_READ_RESPONSE_MIDDLE;
    }

    private void prepare(int opcode, int psn, int count) {
        qp.address(packet);
        packet.opcode = qp.transport() | opcode;
        packet.psn = psn;
        packet.psnCount = 1;
        packet.payloadLength = 0;
        packet.placed = 0;
        packet.ackRequest = false;
        packet.solicited = false;
        packet.syndrome = Nak.ACK;
        packet.msn = count;
    }
}
