package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.memory.Memory;

/**
 * Answers the peer of a reliable queue pair: with acknowledgements, data of reads, old values of atomics, and bare
 * responses to atomic writes and flushes.
 */
final class Answers {

    /** The result of {@link #checkRead} and {@link #checkAtomic} for a request that is permitted. */
    private static final int FINE = -1;
    private static final int READS = IbvAccessFlags.IBV_ACCESS_REMOTE_READ;

    private final Qp qp;
    private final AnswerQueue queue;
    final Placements placements;
    // The last atomics in a ring: a repeated request must not be carried out twice (IBA volume 1, 9.7.5.1.5).
    private int[] atomicPsns = {};
    private long[] atomicValues = {};
    /** The capacity of the ring, which is allocated at the first atomic. */
    private int depth;
    private int nextAtomic;
    private int atomics;

    Answers(Qp qp) {
        this.qp = qp;
        this.queue = new AnswerQueue(qp);
        this.placements = new Placements(qp);
    }

    void start() {
        atomics = 0;
        nextAtomic = 0;
        depth = Math.max(1, qp.maxDestReadAtomic);
        atomicPsns = new int[0];
        atomicValues = new long[0];
        queue.start(depth);
    }

    /** Drops all due answers. */
    void stop() {
        queue.stop();
    }

    /** Counts a completed request. */
    void countMessage() {
        queue.countMessage();
    }

    /** Tells whether answers to earlier requests wait. */
    boolean isBusy() {
        return queue.isBusy();
    }

    /** Tells whether answers or an acknowledgement wait. */
    boolean isDue() {
        return queue.isDue();
    }

    /** Returns a PSN of the next answer; there must be one. */
    int nextPsn() {
        return queue.nextPsn();
    }

    /** Tells whether the queue of answers is full. */
    boolean isFull() {
        return queue.isFull();
    }

    /** Sends an AETH with a syndrome. */
    void acknowledge(int psn, int syndrome) {
        queue.acknowledge(psn, syndrome);
    }

    /** Sends the waiting acknowledgement. */
    void acknowledgeNow() {
        queue.acknowledgeNow();
    }

    /**
     * Returns the NAK code for a read that is not permitted, or below zero.
     *
     * @param user whose memory the request may touch
     */
    int checkRead(Packet request, KeyUser user) {
        long bytes = Integer.toUnsignedLong(request.dmaLength);
        if ((qp.access & READS) == 0 || qp.maxDestReadAtomic == 0 || bytes > Hca.MAX_MESSAGE) {
            return Nak.INVALID_REQUEST;
        }
        boolean allowed =
                bytes == 0 || qp.hca.keys.permits(request.rkey, request.remoteAddress, bytes, READS, user);
        return allowed ? FINE : Nak.REMOTE_ACCESS;
    }

    /**
     * Returns the native address of the data that a peer is about to request, from an offset of its read on, if it is
     * plain memory of a region that the peer may read and the answer goes out at once; {@link MemoryKey#NONE} if not.
     */
    long plain(SendWqe read, long offset) {
        // A counter would count each step.
        if ((qp.access & READS) == 0 || qp.maxDestReadAtomic == 0 || qp.counted.isAttached() || !queue.isReady()) {
            return MemoryKey.NONE;
        }
        // The whole range: a read that is refused at its first request brings nothing.
        long first = qp.hca.keys.plain(read.rkey, read.remoteAddress, read.length, READS, qp);
        return first == MemoryKey.NONE ? MemoryKey.NONE : first + offset;
    }

    /** Sends the data of a read that was checked. */
    void read(Packet request, KeyUser user) {
        queue.addRead(request, user);
    }

    /** Returns the NAK code for an atomic that is not permitted, or below zero. */
    int checkAtomic(Packet request, KeyUser user) {
        if ((qp.access & IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC) == 0
                || qp.maxDestReadAtomic == 0
                || (request.remoteAddress & 7) != 0) {
            return Nak.INVALID_REQUEST;
        }
        long target = target(request, user);
        return target == MemoryKey.NONE || (target & 7) != 0 ? Nak.REMOTE_ACCESS : FINE;
    }

    private long target(Packet request, KeyUser user) {
        int need = IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;
        return qp.hca.keys.translate(request.rkey, request.remoteAddress, Long.BYTES, need, user);
    }

    /** Carries out an atomic that was checked. Returns the old value. */
    long execute(Packet request, KeyUser user) {
        long target = target(request, user);
        qp.hca.touched(target, Long.BYTES, true);
        long before = Opcode.operation(request.opcode) == Opcode.RC_FETCH_ADD
                ? Memory.getAndAddLong(target, request.swapOrAdd)
                : Memory.compareAndExchangeLong(target, request.compare, request.swapOrAdd);
        qp.hca.engine.touched();
        if (atomics == 0) {
            atomicPsns = new int[depth];
            atomicValues = new long[depth];
        }
        atomicPsns[nextAtomic] = request.psn;
        atomicValues[nextAtomic] = before;
        nextAtomic = nextAtomic + 1 == atomicPsns.length ? 0 : nextAtomic + 1;
        atomics = Math.min(atomics + 1, atomicPsns.length);
        return before;
    }

    /** Answers an atomic with the old value. */
    void atomic(Packet request, long before) {
        queue.addAtomic(request.psn, before);
    }

    /** Answers an atomic write or a flush. */
    void bare(Packet request) {
        queue.addBare(request.psn);
    }

    /**
     * Answers a request that was carried out before, and whose answer may be lost (IBA volume 1, 9.7.5.1.4).
     *
     * @param user whose memory the request may touch; null if the shared receive queue of an XRC request is destroyed.
     *     Only a repeated read needs the queue: other requests were done when it was there.
     */
    void repeat(Packet request, int lastDone, @Nullable KeyUser user) {
        switch (Opcode.operation(request.opcode)) {
            case Opcode.RC_READ_REQUEST -> {
                int psns = Psn.count(Integer.toUnsignedLong(request.dmaLength), qp.pathMtu);
                // No more than was requested before. Without this, a length that wraps around the PSN space would pass.
                int done = Psn.distance(lastDone, request.psn) + 1;
                if (psns <= done && makeRoom(request.psn)) {
                    repeatRead(request, user);
                }
            }
            case Opcode.RC_COMPARE_SWAP, Opcode.RC_FETCH_ADD -> {
                for (int i = 0; i < atomics; i++) {
                    if (atomicPsns[i] == request.psn && makeRoom(request.psn)) {
                        queue.addAtomic(request.psn, atomicValues[i]);
                        return;
                    }
                }
            }
            case Opcode.RC_ATOMIC_WRITE, Opcode.RC_FLUSH -> {
                // Carried out once: a second atomic write would undo what was written since.
                if (makeRoom(request.psn)) {
                    queue.addBare(request.psn);
                }
            }
            default -> queue.acknowledge(lastDone, Nak.ACK);
        }
    }

    /**
     * Answers a repeated read, or refuses it if its region or its queue is gone in the meantime. A refusal does not
     * move this queue pair to the error state: a network can deliver a copy of the request after the peer got its
     * answer and the program closed the region, and the peer then drops the NAK.
     */
    private void repeatRead(Packet request, @Nullable KeyUser user) {
        int problem = user == null ? Nak.INVALID_REQUEST : checkRead(request, user);
        if (user != null && problem < 0) {
            queue.addRead(request, user);
        } else if (queue.isBusy()) {
            // The answers before it go first. Then the peer asks again.
            queue.acknowledge(request.psn, Nak.syndrome(Nak.SEQUENCE));
        } else {
            queue.acknowledgeNow(); // acknowledges the packets that came with the request
            queue.acknowledge(request.psn, Nak.syndrome(problem));
        }
    }

    /** Drops the answers from a PSN on: a peer that repeats a request repeats all that follow it. */
    private boolean makeRoom(int psn) {
        queue.cut(psn);
        return !queue.isFull();
    }
}
