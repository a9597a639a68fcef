package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;

/** Carries out the requests of a connected peer (IBA volume 1, 9.7.4 for RC and 9.8.3 for UC). */
final class Responder {

    private enum Message {
        NONE,
        SEND,
        WRITE
    }

    private static final int NONE = -1;

    private final Qp qp;
    private final Answers answers;
    /** The receive of the current message. */
    private final TakenReceive taken;
    /** The PSN of the next request in order. */
    private int expectedPsn;
    /** The PSN that was expected when the current packet came, or {@link #NONE}. */
    private int takenPsn = NONE;
    /** The kind of the unfinished message: its first packet came, its last did not. */
    private Message message = Message.NONE;
    private final WriteTarget target;
    /** The bytes of the message that have arrived. */
    private long arrived;
    private boolean toldSequence;

    Responder(Qp qp, int maxEntries) {
        this.qp = qp;
        this.answers = new Answers(qp);
        this.taken = new TakenReceive(qp, maxEntries);
        this.target = new WriteTarget(qp);
    }

    void start(int psn) {
        expectedPsn = psn;
        message = Message.NONE;
        taken.drop();
        toldSequence = false;
        answers.start();
    }

    /** Completes the receive of an unfinished message when the queue pair goes to the error state. */
    void flush() {
        answers.acknowledgeNow();
        answers.stop();
        message = Message.NONE;
        taken.fail(IbvWcStatus.IBV_WC_WR_FLUSH_ERR);
    }

    /** Acknowledges what has come since the last acknowledgement. */
    void acknowledge() {
        answers.acknowledgeNow();
    }

    private boolean isReliable() {
        return qp.isReliable();
    }

    /** Returns whose memory the current request may touch. */
    private KeyUser user() {
        return taken.user();
    }

    /** Returns the PSN of the next request in order. */
    int expectedPsn() {
        return expectedPsn;
    }

    /** Tells whether the request with a PSN is the next one, and begins a message while no answer is due. */
    boolean awaits(int psn) {
        return expectedPsn == psn && message == Message.NONE && !answers.isDue() && !taken.isTaken();
    }

    /** Notes a request of some PSNs that the peer has carried out directly. */
    void tookDirectly(int psns) {
        expectedPsn = Psn.plus(expectedPsn, psns);
        toldSequence = false;
        answers.countMessage();
    }

    /**
     * Returns the native address of the payload that the peer is about to send, if this side is going to take it and it
     * goes to plain memory; {@link MemoryKey#NONE} if not. Has no consequence.
     */
    long place(SendWqe wqe, long offset, long bytes) {
        boolean hasBegun = offset > 0;
        Message kind = wqe.isWrite() ? Message.WRITE : Message.SEND;
        boolean isNext = hasBegun ? message == kind && arrived == offset : message == Message.NONE;
        if (!isNext || answers.isBusy() || wqe.hasImmediate() && !taken.isThere()) {
            return MemoryKey.NONE;
        }
        return wqe.isWrite()
                ? target.plain(wqe, hasBegun, offset, bytes)
                : taken.plain(hasBegun, offset, bytes);
    }

    /**
     * Returns the native address of the data that the peer is about to request, from an offset of its read on, if this
     * side is going to send it at once and it is plain memory; {@link MemoryKey#NONE} if not. Has no consequence.
     */
    long source(SendWqe read, long offset) {
        return message == Message.NONE ? answers.plain(read, offset) : MemoryKey.NONE;
    }

    /** Takes a request. */
    void take(Packet packet) {
        takenPsn = expectedPsn;
        inOrder(packet);
        takenPsn = NONE;
    }

    private void inOrder(Packet packet) {
        int ahead = Psn.distance(packet.psn, expectedPsn);
        if (isReliable()) {
            if (ahead > 0) {
                qp.counters.count(Counter.OUT_OF_SEQ_REQUEST);
                if (!toldSequence) {
                    toldSequence = true;
                    answers.acknowledge(expectedPsn, Nak.syndrome(Nak.SEQUENCE));
                }
                return;
            }
            if (ahead < 0) {
                qp.counters.count(Counter.DUPLICATE_REQUEST);
                answers.repeat(packet, Psn.plus(expectedPsn, -1), qp.domain == null ? qp : qp.named(packet));
                return;
            }
            toldSequence = false;
        } else if (ahead != 0 || message != Message.NONE && Opcode.begins(packet.opcode)) {
            // UC: a lost packet loses its message; the next packet that begins a message is taken (IBA volume 1,
            // 9.8.3.1).
            abandon();
            if (!Opcode.begins(packet.opcode)) {
                return;
            }
            expectedPsn = packet.psn;
        }
        request(packet);
    }

    /** Forgets an unfinished message; its receive waits for the next message. */
    private void abandon() {
        message = Message.NONE;
    }

    private void request(Packet packet) {
        int opcode = Opcode.operation(packet.opcode);
        boolean begins = Opcode.begins(packet.opcode);
        if (begins != (message == Message.NONE) || !isOfMessage(opcode) || !hasRightLength(packet)) {
            refuse(Nak.INVALID_REQUEST, IbvWcStatus.IBV_WC_REM_INV_REQ_ERR);
            return;
        }
        if (qp.domain != null && !findNamed(packet)) {
            return;
        }
        switch (opcode) {
            case Opcode.RC_READ_REQUEST -> read(packet);
            case Opcode.RC_COMPARE_SWAP, Opcode.RC_FETCH_ADD -> atomic(packet);
            case Opcode.RC_ATOMIC_WRITE, Opcode.RC_FLUSH -> place(packet);
            default -> {
                if (Opcode.isSend(opcode)) {
                    send(packet);
                } else {
                    write(packet);
                }
            }
        }
    }

    /**
     * Finds the shared receive queue that a request of XRC names. If there is none in the domain, or if the packets of
     * one message name different queues, refuses the request.
     */
    private boolean findNamed(Packet packet) {
        XrcSrq found = qp.named(packet);
        if (found == null || !taken.name(found, message != Message.NONE)) {
            refuse(Nak.INVALID_REQUEST, IbvWcStatus.IBV_WC_REM_INV_REQ_ERR);
            return false;
        }
        if (found.isBroken()) {
            refuse(Nak.REMOTE_OPERATION, IbvWcStatus.IBV_WC_REM_OP_ERR);
        }
        return !found.isBroken();
    }

    private boolean isOfMessage(int opcode) {
        return message == Message.NONE || (message == Message.SEND) == Opcode.isSend(opcode);
    }

    /** Tells whether the length is right: all packets of a message except the last are as long as the path MTU. */
    private boolean hasRightLength(Packet packet) {
        long most = (long) packet.psnCount * qp.pathMtu;
        if (Opcode.isFirst(packet.opcode) || Opcode.isMiddle(packet.opcode)) {
            return packet.payloadLength == most;
        }
        return packet.payloadLength <= most
                && (packet.payloadLength > most - qp.pathMtu || packet.psnCount == 1 && Opcode.isOnly(packet.opcode));
    }

    private void send(Packet packet) {
        if (message == Message.NONE) {
            if (!takeReceive(packet)) {
                return;
            }
            if (taken.isInjected(IbvWcOpcode.IBV_WC_RECV)) {
                refuseReceive(Nak.REMOTE_OPERATION, taken.injected());
                return;
            }
            arrived = 0;
        }
        // A message that a tag matched goes to memory without its header, which is in the first packet.
        int header = taken.header();
        int skipped = arrived == 0 ? header : 0;
        if (arrived + packet.payloadLength - header > taken.receive.length) {
            refuseReceive(Nak.INVALID_REQUEST, IbvWcStatus.IBV_WC_LOC_LEN_ERR);
            return;
        }
        if (arrived == 0 && !taken.receive.isWritable(user())
                || !taken.receive.write(arrived - header + skipped, packet.payload + skipped,
                        packet.payloadLength - skipped, packet.placed, user())) {
            refuseReceive(Nak.REMOTE_OPERATION, IbvWcStatus.IBV_WC_LOC_PROT_ERR);
            return;
        }
        qp.hca.engine.touched();
        boolean invalidates = Opcode.hasInvalidate(packet.opcode);
        if (invalidates && !qp.windows.invalidate(packet.immediate)) {
            refuse(Nak.REMOTE_ACCESS, IbvWcStatus.IBV_WC_REM_ACCESS_ERR);
            return;
        }
        arrived += packet.payloadLength;
        advance(packet, Message.SEND);
        if (message == Message.NONE) {
            int flags = invalidates ? IbvWcFlags.IBV_WC_WITH_INV : immediateFlag(packet);
            int word = invalidates ? packet.immediate : Qp.bigEndian(packet.immediate);
            taken.complete(IbvWcStatus.IBV_WC_SUCCESS, IbvWcOpcode.IBV_WC_RECV, (int) arrived, word, flags,
                    packet.solicited);
        }
        acknowledge(packet);
    }

    private static int immediateFlag(Packet packet) {
        return Opcode.hasImmediate(packet.opcode) ? IbvWcFlags.IBV_WC_WITH_IMM : 0;
    }

    private void write(Packet packet) {
        if (message == Message.NONE) {
            int problem = target.begin(packet, user());
            if (problem >= 0) {
                refuse(problem, status(problem));
                return;
            }
            arrived = 0;
        }
        boolean ends = !Opcode.isFirst(packet.opcode) && !Opcode.isMiddle(packet.opcode);
        long left = target.length() - arrived;
        if (ends ? packet.payloadLength != left : packet.payloadLength >= left) {
            refuse(Nak.INVALID_REQUEST, IbvWcStatus.IBV_WC_REM_INV_REQ_ERR);
            return;
        }
        boolean announced = Opcode.hasImmediate(packet.opcode);
        if (announced && !takeReceive(packet)) {
            return;
        }
        if (announced && taken.isInjected(IbvWcOpcode.IBV_WC_RECV_RDMA_WITH_IMM)) {
            refuseReceive(Nak.REMOTE_OPERATION, taken.injected());
            return;
        }
        if (packet.payloadLength > 0 && !target.put(packet, arrived, user())) {
            refuse(Nak.REMOTE_ACCESS, IbvWcStatus.IBV_WC_REM_ACCESS_ERR);
            return;
        }
        arrived += packet.payloadLength;
        advance(packet, Message.WRITE);
        if (message == Message.NONE) {
            qp.counted.written(arrived);
        }
        if (announced) {
            int opcode = IbvWcOpcode.IBV_WC_RECV_RDMA_WITH_IMM;
            int word = Qp.bigEndian(packet.immediate);
            taken.complete(IbvWcStatus.IBV_WC_SUCCESS, opcode, (int) arrived, word, IbvWcFlags.IBV_WC_WITH_IMM,
                    packet.solicited);
        }
        acknowledge(packet);
    }

    private void read(Packet packet) {
        if (!mayAnswer(answers.checkRead(packet, user()))) {
            return;
        }
        int psns = Psn.count(Integer.toUnsignedLong(packet.dmaLength), qp.pathMtu);
        expectedPsn = Psn.plus(expectedPsn, psns);
        answers.countMessage();
        qp.counted.read(Integer.toUnsignedLong(packet.dmaLength));
        answers.read(packet, user());
    }

    private void atomic(Packet packet) {
        if (!mayAnswer(answers.checkAtomic(packet, user()))) {
            return;
        }
        long before = answers.execute(packet, user());
        expectedPsn = Psn.plus(expectedPsn, 1);
        answers.countMessage();
        answers.atomic(packet, before);
    }

    /** Carries out an atomic write or a flush. Requests are carried out in order: all writes before it are done. */
    private void place(Packet packet) {
        if (!mayAnswer(answers.placements.check(packet))) {
            return;
        }
        answers.placements.execute(packet);
        expectedPsn = Psn.plus(expectedPsn, 1);
        answers.countMessage();
        answers.bare(packet);
    }

    /** Refuses a request that has a problem, a NAK code. Lets the peer repeat a request that finds no room now. */
    private boolean mayAnswer(int problem) {
        if (problem >= 0) {
            refuse(problem, status(problem));
        } else if (answers.isFull()) {
            takeAsLost();
        } else {
            return true;
        }
        return false;
    }

    private static int status(int nak) {
        return nak == Nak.REMOTE_ACCESS ? IbvWcStatus.IBV_WC_REM_ACCESS_ERR : IbvWcStatus.IBV_WC_REM_INV_REQ_ERR;
    }

    private void advance(Packet packet, Message kind) {
        expectedPsn = Psn.plus(packet.psn, packet.psnCount);
        message = Opcode.isFirst(packet.opcode) || Opcode.isMiddle(packet.opcode) ? kind : Message.NONE;
        if (message == Message.NONE) {
            answers.countMessage();
        }
    }

    private void acknowledge(Packet packet) {
        if (isReliable() && packet.ackRequest) {
            answers.acknowledge(Psn.plus(expectedPsn, -1), Nak.ACK);
        }
    }

    /** Takes a receive for the message. If there is none, asks the peer to wait; on UC drops the message. */
    private boolean takeReceive(Packet packet) {
        if (taken.take(packet, Opcode.isSend(packet.opcode))) {
            return true;
        }
        if (isReliable()) {
            toldSequence = true; // packets that follow are dropped in silence: the peer knows where to go on
            qp.counters.count(Counter.SEND_RNR_ERR);
            answers.acknowledge(packet.psn, Nak.notReady(qp.minRnrTimer));
        } else {
            qp.counters.count(Counter.OUT_OF_BUFFER);
            expectedPsn = Psn.plus(packet.psn, packet.psnCount);
            abandon();
        }
        return false;
    }

    /** Refuses a message whose receive does not fit. UC goes on, and completes the receive with the error. */
    private void refuseReceive(int nak, int status) {
        if (!isReliable()) {
            taken.fail(status);
        }
        refuse(nak, status);
    }

    /** Makes the peer repeat a request when the answers before it are out. */
    private void takeAsLost() {
        toldSequence = true;
        answers.acknowledge(expectedPsn, Nak.syndrome(Nak.SEQUENCE));
    }

    /** Ends the answer to a read whose region was deregistered: the peer may not have the rest. */
    void endAccess(int psn) {
        answers.stop();
        refuse(psn, Nak.REMOTE_ACCESS, IbvWcStatus.IBV_WC_REM_ACCESS_ERR);
    }

    /** Refuses the pending request, because this side can't go on: the peer gets a NAK instead of an answer. */
    void giveUp() {
        if (isReliable()) {
            // A late exception may find the packet already counted. A peer ignores a NAK for a PSN that it has not
            // sent.
            int psn = answers.isBusy() ? answers.nextPsn() : takenPsn == NONE ? expectedPsn : takenPsn;
            answers.stop();
            answers.acknowledge(psn, Nak.syndrome(Nak.REMOTE_OPERATION));
        }
    }

    /** Refuses a wrong request. A reliable queue pair goes to the error state; UC drops the message. */
    private void refuse(int nak, int status) {
        if (!isReliable()) {
            expectedPsn = Psn.plus(expectedPsn, 1);
            abandon();
            return;
        }
        if (answers.isBusy()) {
            takeAsLost(); // a refusal ends the connection, and earlier requests must be answered first
            return;
        }
        refuse(expectedPsn, nak, status);
    }

    private void refuse(int psn, int nak, int status) {
        answers.acknowledge(psn, Nak.syndrome(nak));
        taken.fail(status);
        boolean access = nak == Nak.REMOTE_ACCESS;
        if (access) {
            qp.counters.count(Counter.RESP_REMOTE_ACCESS_ERRORS);
        }
        qp.handles.raise(access ? IbvEventType.IBV_EVENT_QP_ACCESS_ERR : IbvEventType.IBV_EVENT_QP_REQ_ERR);
        qp.toError();
    }
}
