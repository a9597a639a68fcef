package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.wire.FrameHeaders;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.memory.Memory;

/** Checks what arrives at a queue pair, and gives it to the side that it is for. */
final class Arrivals {

    private final Qp qp;
    /**
     * Whether a message of the peer has come before the program knew that the connection is established (IBA volume 1,
     * 11.6.3.1).
     */
    private boolean toldEstablished;

    Arrivals(Qp qp) {
        this.qp = qp;
    }

    /** Returns to the initial state. */
    void reset() {
        toldEstablished = false;
    }

    /** Takes a packet. An exception ends this queue pair, or else the sender's. */
    void take(Packet packet) {
        try {
            receive(packet);
        } catch (Throwable e) {
            if (!isReadable(packet)) {
                throw e; // the packet came from memory to memory, and the sender's memory is gone: the sender ends
            }
            qp.failed();
            qp.hca.engine.report(e);
        }
    }

    private boolean isReadable(Packet packet) {
        try {
            if (packet.payloadLength > 0) {
                Memory.copy(packet.payload + packet.payloadLength - 1, qp.scratch(), 1);
                Memory.throwPending();
            }
            return true;
        } catch (InternalError e) {
            return false;
        }
    }

    private void receive(Packet packet) {
        if (packet.opcode == Opcode.CNP && qp.isReceiving()) {
            qp.congestion.notified(packet);
            return;
        }
        if (Opcode.transport(packet.opcode) != qp.transport() || !qp.isReceiving() || isOfWrongSide(packet.opcode)) {
            qp.hca.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        qp.counters.count(Counter.RCVD_PKTS, packet.psnCount);
        qp.counters.count(Counter.RCVD_BYTES, packet.payloadLength);
        if (qp.type == IbvQpType.IBV_QPT_UD) {
            qp.datagrams.take(packet);
            return;
        }
        if (!qp.migration.admits(packet)) {
            qp.hca.counters.count(Counter.PORT_RCV_ERRORS); // from a stranger (IBA volume 1, 9.6.1.2)
            return;
        }
        qp.congestion.see(packet);
        if (Opcode.isRequest(packet.opcode)) {
            if (qp.state == IbvQpState.IBV_QPS_RTR && !toldEstablished) {
                toldEstablished = true;
                qp.handles.raise(IbvEventType.IBV_EVENT_COMM_EST);
            }
            qp.responder.take(packet);
        } else if (qp.state != IbvQpState.IBV_QPS_RTR) {
            if (Opcode.operation(packet.opcode) == Opcode.RC_ACK) {
                qp.completer.acknowledged(packet);
            } else {
                qp.completer.answered(packet);
            }
        }
    }

    /** Takes a frame that a flow rule gives to this queue pair. An exception ends the queue pair. */
    void takeFrame(long frame, int length, long frameNumber, FrameHeaders headers) {
        if (qp.spread != null && qp.isReceiving()) {
            qp.spread.take(frame, length, frameNumber, headers, qp.counters);
            return;
        }
        if (qp.frames == null || !qp.isReceiving()) {
            return;
        }
        try {
            qp.frames.take(frame, length, frameNumber);
        } catch (Throwable e) {
            qp.failed();
            qp.hca.engine.report(e);
        }
    }

    /** Tells whether a packet of XRC is a request to a sender or an answer to a receiver. */
    private boolean isOfWrongSide(int opcode) {
        return qp.isXrc() && Opcode.isRequest(opcode) != (qp.domain != null);
    }
}
