package org.kverbs.embedded.internal.device;

import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.ffm.Memory;

/** What a reliable queue pair answers its peer: acknowledgements, the data of reads, the values before atomics. */
final class Answers {

    /** What {@link #checkRead} and {@link #checkAtomic} say of a request that may be done. */
    private static final int FINE = -1;

    private final Qp qp;
    private final Packet packet = new Packet(0);
    private int msn;
    // The atomics done last, in a ring: one that is asked for again must not be done again (IBA volume 1, 9.7.5.1.5).
    private int[] atomicPsns = {};
    private long[] atomicValues = {};
    private int atomics;

    Answers(Qp qp) {
        this.qp = qp;
    }

    void start() {
        msn = 0;
        atomics = 0;
        int depth = Math.max(1, qp.maxDestReadAtomic);
        atomicPsns = new int[depth];
        atomicValues = new long[depth];
    }

    /** A request was done to its end. */
    void countMessage() {
        msn = Psn.plus(msn, 1);
    }

    /** Sends an AETH with a syndrome. */
    void acknowledge(int psn, int syndrome) {
        prepare(Opcode.RC_ACK, psn);
        packet.syndrome = syndrome;
        qp.hca.link.send(packet);
    }

    private void prepare(int opcode, int psn) {
        qp.address(packet);
        packet.opcode = opcode;
        packet.psn = psn;
        packet.psnCount = 1;
        packet.payloadLength = 0;
        packet.ackRequest = false;
        packet.solicited = false;
        packet.syndrome = Nak.ACK;
        packet.msn = msn;
    }

    /** The NAK code for a read that may not be done, or below zero. */
    int checkRead(Packet request) {
        if ((qp.access & IbvAccessFlags.IBV_ACCESS_REMOTE_READ) == 0 || qp.maxDestReadAtomic == 0) {
            return Nak.INVALID_REQUEST;
        }
        return request.dmaLength != 0 && source(request) == MemoryKey.NONE ? Nak.REMOTE_ACCESS : FINE;
    }

    private long source(Packet request) {
        long bytes = Integer.toUnsignedLong(request.dmaLength);
        return qp.hca.keys.translate(request.rkey, request.remoteAddress, bytes, IbvAccessFlags.IBV_ACCESS_REMOTE_READ, qp);
    }

    /** Sends the data of a read that was checked. */
    void read(Packet request) {
        long length = Integer.toUnsignedLong(request.dmaLength);
        int psns = Psn.count(length, qp.pathMtu);
        long from = length == 0 ? 0 : source(request);
        int step = qp.hca.link.carriesWholeMessages() ? psns : 1;
        int first = request.psn;
        for (int i = 0; i < psns; i += step) {
            boolean begins = i == 0;
            boolean ends = i + step == psns;
            prepare(
                    begins
                            ? ends ? Opcode.RC_READ_RESPONSE_ONLY : Opcode.RC_READ_RESPONSE_FIRST
                            : ends ? Opcode.RC_READ_RESPONSE_LAST : Opcode.RC_READ_RESPONSE_MIDDLE,
                    Psn.plus(first, i));
            packet.psnCount = step;
            packet.payload = from + (long) i * qp.pathMtu;
            packet.payloadLength = (int) Math.min(length - (long) i * qp.pathMtu, (long) step * qp.pathMtu);
            qp.hca.link.send(packet);
        }
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

    /** Does an atomic that was checked and answers with the value before. */
    void atomic(Packet request) {
        long target = target(request);
        long before = request.opcode == Opcode.RC_FETCH_ADD
                ? Memory.getAndAddLong(target, request.swapOrAdd)
                : Memory.compareAndExchangeLong(target, request.compare, request.swapOrAdd);
        int slot = atomics++ % atomicPsns.length;
        atomicPsns[slot] = request.psn;
        atomicValues[slot] = before;
        answerAtomic(request.psn, before);
    }

    private void answerAtomic(int psn, long before) {
        prepare(Opcode.RC_ATOMIC_ACK, psn);
        packet.originalValue = before;
        qp.hca.link.send(packet);
    }

    /** Answers a request that was done before, of which the answer may be lost (IBA volume 1, 9.7.5.1.4). */
    void repeat(Packet request, int lastDone) {
        switch (request.opcode) {
            case Opcode.RC_READ_REQUEST -> {
                int end = Psn.plus(request.psn, Psn.count(Integer.toUnsignedLong(request.dmaLength), qp.pathMtu) - 1);
                if (checkRead(request) == FINE && Psn.distance(end, lastDone) <= 0) {
                    read(request);
                }
            }
            case Opcode.RC_COMPARE_SWAP, Opcode.RC_FETCH_ADD -> {
                for (int i = 0; i < Math.min(atomics, atomicPsns.length); i++) {
                    if (atomicPsns[i] == request.psn) {
                        answerAtomic(request.psn, atomicValues[i]);
                        return;
                    }
                }
            }
            default -> acknowledge(lastDone, Nak.ACK);
        }
    }
}
