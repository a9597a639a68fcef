package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.ffm.Memory;

/** What a reliable queue pair answers its peer: acknowledgements, the data of reads, the values before atomics. */
final class Answers {

    /** What {@link #checkRead} and {@link #checkAtomic} say of a request that may be done. */
    private static final int FINE = -1;

    private final Qp qp;
    private final AnswerQueue queue;
    // The atomics done last, in a ring: one that is asked for again must not be done again (IBA volume 1, 9.7.5.1.5).
    private int[] atomicPsns = {};
    private long[] atomicValues = {};
    /** How many of them there may be; they have memory from the first on. */
    private int depth;
    private int nextAtomic;
    private int atomics;

    Answers(Qp qp) {
        this.qp = qp;
        this.queue = new AnswerQueue(qp);
    }

    void start() {
        atomics = 0;
        nextAtomic = 0;
        depth = Math.max(1, qp.maxDestReadAtomic);
        atomicPsns = new int[0];
        atomicValues = new long[0];
        queue.start(depth);
    }

    /** Owes nothing any more. */
    void stop() {
        queue.stop();
    }

    /** A request was done to its end. */
    void countMessage() {
        queue.countMessage();
    }

    /** Whether answers to earlier requests wait for their turn. */
    boolean isBusy() {
        return queue.isBusy();
    }

    /** A PSN of the answer that is to go out next; there must be one. */
    int nextPsn() {
        return queue.nextPsn();
    }

    /** Whether no answer more may wait. */
    boolean isFull() {
        return queue.isFull();
    }

    /** Sends an AETH with a syndrome. */
    void acknowledge(int psn, int syndrome) {
        queue.acknowledge(psn, syndrome);
    }

    /** Sends the acknowledgement that waits. */
    void acknowledgeNow() {
        queue.acknowledgeNow();
    }

    /** The NAK code for a read that may not be done, or below zero. */
    int checkRead(Packet request) {
        long bytes = Integer.toUnsignedLong(request.dmaLength);
        if ((qp.access & IbvAccessFlags.IBV_ACCESS_REMOTE_READ) == 0 || qp.maxDestReadAtomic == 0
                || bytes > Hca.MAX_MESSAGE) {
            return Nak.INVALID_REQUEST;
        }
        boolean allowed = bytes == 0 || queue.source(request.rkey, request.remoteAddress, bytes) != MemoryKey.NONE;
        return allowed ? FINE : Nak.REMOTE_ACCESS;
    }

    /** Sends the data of a read that was checked. */
    void read(Packet request) {
        queue.addRead(request);
    }

    /** The NAK code for an atomic that may not be done, or below zero. */
    int checkAtomic(Packet request) {
        if ((qp.access & IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC) == 0
                || qp.maxDestReadAtomic == 0
                || (request.remoteAddress & 7) != 0) {
            return Nak.INVALID_REQUEST;
        }
        long target = target(request);
        return target == MemoryKey.NONE || (target & 7) != 0 ? Nak.REMOTE_ACCESS : FINE;
    }

    private long target(Packet request) {
        int need = IbvAccessFlags.IBV_ACCESS_REMOTE_ATOMIC;
        return qp.hca.keys.translate(request.rkey, request.remoteAddress, Long.BYTES, need, qp);
    }

    /** Does an atomic that was checked. Returns the value before. */
    long execute(Packet request) {
        long target = target(request);
        qp.hca.touched(target, Long.BYTES, true);
        long before = request.opcode == Opcode.RC_FETCH_ADD
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

    /** Answers an atomic with the value before. */
    void atomic(Packet request, long before) {
        queue.addAtomic(request.psn, before);
    }

    /** Answers a request that was done before, of which the answer may be lost (IBA volume 1, 9.7.5.1.4). */
    void repeat(Packet request, int lastDone) {
        switch (request.opcode) {
            case Opcode.RC_READ_REQUEST -> {
                int psns = Psn.count(Integer.toUnsignedLong(request.dmaLength), qp.pathMtu);
                // No more than was asked for before; the distance alone would take a turn of all PSNs for none.
                int done = Psn.distance(lastDone, request.psn) + 1;
                if (psns <= done && makeRoom(request.psn)) {
                    repeatRead(request);
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
            default -> queue.acknowledge(lastDone, Nak.ACK);
        }
    }

    /**
     * Answers a repeated read, or refuses it: its region may have gone since. This queue pair does not enter the error
     * state for that. A network can deliver a copy of the request after the peer has its answer and the region was
     * closed as it should be; the peer then drops the NAK.
     */
    private void repeatRead(Packet request) {
        int problem = checkRead(request);
        if (problem < 0) {
            queue.addRead(request);
        } else if (queue.isBusy()) {
            // What is due before it goes first. Then the peer asks again.
            queue.acknowledge(request.psn, Nak.syndrome(Nak.SEQUENCE));
        } else {
            queue.acknowledgeNow(); // what came with it
            queue.acknowledge(request.psn, Nak.syndrome(problem));
        }
    }

    /** Who asks again from a PSN on asks for all that follows again, too. */
    private boolean makeRoom(int psn) {
        queue.cut(psn);
        return !queue.isFull();
    }
}
