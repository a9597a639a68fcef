package org.kverbs.embedded.internal.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.wire.Grh;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvGrh;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.abi.IbvWrOpcode;

/** Sends and receives datagrams (IBA volume 1, 9.8.2.2 and 9.8.3.2). */
final class Datagrams {

    private final Qp qp;
    final OneWaySends sends;
    private final Packet packet = new Packet(0);
    private final ReceiveQueue.Receive receive;
    /** Holds a gathered payload. */
    private final MemorySegment staging;
    /** Holds a global routing header: a message can come from the staging of the queue pair that receives it. */
    private final MemorySegment header;
    private boolean hasReceive;
    private int psn;

    Datagrams(Qp qp, int maxEntries) {
        this.qp = qp;
        this.sends = new OneWaySends(qp, this::send);
        this.receive = new ReceiveQueue.Receive(maxEntries);
        boolean isUsed = qp.type == IbvQpType.IBV_QPT_UD;
        this.staging = isUsed ? Arena.ofAuto().allocate(4096, 8) : MemorySegment.NULL;
        this.header = isUsed ? Arena.ofAuto().allocate(IbvGrh.SIZE, 8) : MemorySegment.NULL;
    }

    void start(int firstPsn) {
        psn = firstPsn;
    }

    /** Returns to the initial state. */
    void reset() {
        if (hasReceive) {
            hasReceive = false;
            qp.receives.occupied.free(1);
        }
    }

    /** Completes a receive that waits for the next datagram when the queue pair goes to the error state. */
    void flush() {
        if (hasReceive) {
            complete(IbvWcStatus.IBV_WC_WR_FLUSH_ERR, 0, 0, 0, 0, false);
        }
    }

    private void complete(int status, int bytes, int word, int sourceQp, int flags, boolean solicited) {
        hasReceive = false;
        qp.receives.complete(receive, status, IbvWcOpcode.IBV_WC_RECV, bytes, word, sourceQp, flags, solicited);
    }

    private int send(SendWqe wqe) {
        if (wqe.isSegmented()) {
            return sendSegment(wqe, Objects.requireNonNull(wqe.segments));
        }
        if (wqe.length > qp.hca.mtu()) {
            return IbvWcStatus.IBV_WC_SUCCESS; // IBA volume 1, C10-93.1.1: it is not sent, and that is not an error
        }
        long place = wqe.contiguous(0, wqe.length, qp);
        if (place == MemoryKey.NONE) {
            place = staging.address();
            if (!wqe.copy(0, place, wqe.length, qp)) {
                return IbvWcStatus.IBV_WC_LOC_PROT_ERR;
            }
        }
        send(wqe, place, (int) wqe.length);
        return IbvWcStatus.IBV_WC_SUCCESS;
    }

    private int sendSegment(SendWqe wqe, Segments segments) {
        int length = segments.nextLength(wqe);
        if (length > qp.hca.mtu()) {
            return IbvWcStatus.IBV_WC_LOC_LEN_ERR; // of a long message the program would learn nothing
        }
        if (!segments.writeNext(wqe, staging.address(), qp)) {
            return IbvWcStatus.IBV_WC_LOC_PROT_ERR;
        }
        send(wqe, staging.address(), length);
        return IbvWcStatus.IBV_WC_SUCCESS;
    }

    private void send(SendWqe wqe, long place, int length) {
        boolean immediate = wqe.opcode == IbvWrOpcode.IBV_WR_SEND_WITH_IMM;
        wqe.route.address(packet, qp.hca.gids);
        packet.opcode = immediate ? Opcode.UD_SEND_ONLY_IMMEDIATE : Opcode.UD_SEND_ONLY;
        packet.immediate = wqe.immediate;
        packet.solicited = wqe.is(IbvSendFlags.IBV_SEND_SOLICITED);
        packet.ackRequest = false;
        packet.pkey = Hca.PKEY;
        packet.psn = psn;
        packet.destinationQp = wqe.remoteQp;
        packet.sourceQp = qp.number;
        // A Q_Key with its upper bit set stands for the sender's own Q_Key (IBA volume 1, 10.2.5).
        packet.qkey = wqe.remoteQkey < 0 ? qp.qkey : wqe.remoteQkey;
        packet.payload = place;
        packet.payloadLength = length;
        packet.psnCount = 1;
        packet.sourcePort = wqe.route.sourcePort(qp.number ^ wqe.remoteQp);
        psn = Psn.plus(psn, 1);
        qp.pacer.sends(packet.payloadLength);
        qp.send(packet);
    }

    /**
     * Takes a datagram, if its Q_Key is right and a receive is posted. A datagram that is too long is dropped, and its
     * receive waits for the next one; a receive of a shared queue completes with the error. So strangers cannot stop
     * the queue pair (IBA volume 1, 9.9.3.1, classes D and E).
     */
    void take(Packet from) {
        if (from.qkey != qp.qkey) {
            qp.counters.count(Counter.QKEY_VIOL_CNTR);
            return;
        }
        if (!hasReceive && !qp.receives.take(receive)) {
            qp.counters.count(Counter.OUT_OF_BUFFER);
            return;
        }
        hasReceive = true;
        int injected = qp.hca.injected(IbvWcOpcode.IBV_WC_RECV);
        if (injected != IbvWcStatus.IBV_WC_SUCCESS) {
            complete(injected, 0, 0, 0, 0, false);
            qp.toError();
            return;
        }
        int bytes = IbvGrh.SIZE + from.payloadLength;
        boolean fits = bytes <= receive.length;
        if (!fits && qp.srq == null) {
            return;
        }
        boolean written = fits && write(from);
        qp.hca.engine.touched();
        boolean immediate = Opcode.hasImmediate(from.opcode);
        int flags = IbvWcFlags.IBV_WC_GRH | (immediate ? IbvWcFlags.IBV_WC_WITH_IMM : 0);
        int word = immediate ? Qp.bigEndian(from.immediate) : 0;
        int failure = fits ? IbvWcStatus.IBV_WC_LOC_PROT_ERR : IbvWcStatus.IBV_WC_LOC_LEN_ERR;
        complete(written ? IbvWcStatus.IBV_WC_SUCCESS : failure, bytes, word, from.sourceQp, flags, from.solicited);
        if (fits && !written) {
            qp.toError();
        }
    }

    private boolean write(Packet from) {
        Grh.write(from, header.address());
        return receive.isWritable(qp)
                && receive.write(0, header.address(), IbvGrh.SIZE, qp)
                && receive.write(IbvGrh.SIZE, from.payload, from.payloadLength, qp);
    }
}
