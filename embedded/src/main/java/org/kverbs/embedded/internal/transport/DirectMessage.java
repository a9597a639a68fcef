package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.internal.abi.IbvAccessFlags;
import org.kverbs.internal.abi.IbvSendFlags;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvSge;
import org.kverbs.internal.abi.IbvWcFlags;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWrOpcode;
import org.kverbs.internal.memory.Memory;

/**
 * The message that {@link DirectPath} moves: a write or a send of one entry, shorter than what {@link EarlyCopy}
 * copies. Guarded by the lock of the direct path.
 */
final class DirectMessage {

    private static final int WRITES = IbvAccessFlags.IBV_ACCESS_REMOTE_WRITE;

    /** One. Volatile, so that the JIT can't tell how often the loop of {@link #meetError} runs. */
    @SuppressWarnings("NonFinalStaticField")
    private static volatile int rounds = 1;

    private long id;
    private int opcode;
    private int flags;
    private int word;
    private long length;
    private boolean signaled;
    /** Where the bytes are and where they go. */
    private long from;

    private long to;
    /** True while one of the ends may know of the message and the other not. */
    private boolean halfDone;

    /** Tells whether a list is one request of a kind that can go directly. */
    static boolean isUsual(long workRequests) {
        if (workRequests == 0) {
            return false;
        }
        long request = Memory.known(workRequests);
        int opcode = Memory.getInt(request + IbvSendWr.OPCODE);
        boolean isKnown = switch (opcode) {
            case IbvWrOpcode.IBV_WR_RDMA_WRITE, IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM, IbvWrOpcode.IBV_WR_SEND,
                    IbvWrOpcode.IBV_WR_SEND_WITH_IMM -> true;
            default -> false;
        };
        return isKnown && Memory.getLong(request + IbvSendWr.NEXT) == 0
                && Memory.getInt(request + IbvSendWr.NUM_SGE) == 1;
    }

    /**
     * Reads a request for which {@link #isUsual} is true, and finds its memory at both ends. Returns false if it is to
     * go the usual way.
     */
    boolean find(long workRequest, Qp qp, Qp peer) {
        long request = Memory.known(workRequest);
        id = Memory.getLong(request + IbvSendWr.WR_ID);
        opcode = Memory.getInt(request + IbvSendWr.OPCODE);
        flags = Memory.getInt(request + IbvSendWr.SEND_FLAGS);
        word = Memory.getInt(request + IbvSendWr.IMM_DATA);
        signaled = qp.signalsAll || (flags & IbvSendFlags.IBV_SEND_SIGNALED) != 0;
        long entry = Memory.known(Memory.getLong(request + IbvSendWr.SG_LIST));
        long address = Memory.getLong(entry + IbvSge.ADDR);
        length = Integer.toUnsignedLong(Memory.getInt(entry + IbvSge.LENGTH));
        if (length == 0 || length >= EarlyCopy.LEAST || qp.sends.maxEntries() == 0 || signaled && qp.sendCq == null
                || takesReceive() && !hasReceive(peer)) {
            return false;
        }
        if ((flags & IbvSendFlags.IBV_SEND_INLINE) != 0) {
            from = length <= qp.sends.maxInline() ? address : MemoryKey.NONE;
        } else {
            from = qp.hca.keys.peekLocal(Memory.getInt(entry + IbvSge.LKEY), address, length, 0, qp);
        }
        if (from == MemoryKey.NONE) {
            return false;
        }
        to = isWrite() ? target(request, peer) : peer.receives.own.peek(length, peer);
        return to != MemoryKey.NONE;
    }

    private static boolean hasReceive(Qp peer) {
        return peer.srq == null && peer.recvCq != null && peer.receives.own.hasPlain();
    }

    private long target(long request, Qp peer) {
        long remote = Memory.getLong(request + IbvSendWr.WR_RDMA_REMOTE_ADDR);
        int rkey = Memory.getInt(request + IbvSendWr.WR_RDMA_RKEY);
        return (peer.access & WRITES) == 0 ? MemoryKey.NONE : peer.hca.keys.peek(rkey, remote, length, WRITES, peer);
    }

    private boolean isWrite() {
        return opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE || opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM;
    }

    private boolean hasImmediate() {
        return opcode == IbvWrOpcode.IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IbvWrOpcode.IBV_WR_SEND_WITH_IMM;
    }

    /** Tells whether the message takes a receive of the peer. */
    boolean takesReceive() {
        return opcode != IbvWrOpcode.IBV_WR_RDMA_WRITE;
    }

    /** Tells whether the request completes at its own side. */
    boolean isSignaled() {
        return signaled;
    }

    /**
     * Moves the message that {@link #find} found, and completes it at both ends. The caller has reserved the completion
     * queues. The copy comes first: if it throws, nothing has changed.
     */
    void move(Qp qp, Qp peer) {
        meetError();
        Memory.copy(from, to, length);
        if ((flags & IbvSendFlags.IBV_SEND_INLINE) != 0) {
            Memory.throwPending(); // inline data may be that of a file that has shrunk
        }
        halfDone = true;
        complete(qp, peer);
        halfDone = false;
    }

    /**
     * Throws the error of a file that shrank and that the program touched before it posted, if compiled code has not
     * thrown it yet: it comes where a loop goes on, or else in the middle of what follows.
     */
    private static void meetError() {
        for (int i = 0; i < rounds; i++) {
            // Nothing but the step to the next round.
        }
    }

    /** Tells whether {@link #move} threw an exception in the middle, such as a stack overflow. */
    boolean isHalfDone() {
        return halfDone;
    }

    /** Forgets a message of which that is true. */
    void forget() {
        halfDone = false;
    }

    private void complete(Qp qp, Qp peer) {
        int psns = Psn.count(length, qp.pathMtu);
        qp.requester.sentDirectly(psns);
        qp.completer.acknowledgedDirectly(qp.requester.nextPsn());
        peer.responder.tookDirectly(psns);
        count(qp, peer, psns);
        if (takesReceive()) {
            completeReceive(peer);
        }
        qp.sends.occupied.take();
        Cq here = qp.sendCq;
        if (!signaled || here == null) {
            qp.sends.occupied.doneUnsignaled();
        } else {
            int done = isWrite() ? IbvWcOpcode.IBV_WC_RDMA_WRITE : IbvWcOpcode.IBV_WC_SEND;
            here.addReserved(id, done, (int) length, 0, qp.number, 0, 0, qp.sends.occupied);
        }
    }

    /** Counts the packets of the message, and its acknowledgement. */
    private void count(Qp qp, Qp peer, int psns) {
        qp.counters.count(Counter.SENT_PKTS, psns);
        qp.counters.count(Counter.SENT_BYTES, length);
        qp.counters.count(Counter.RCVD_PKTS);
        peer.counters.count(Counter.RCVD_PKTS, psns);
        peer.counters.count(Counter.RCVD_BYTES, length);
        peer.counters.count(Counter.SENT_PKTS);
    }

    private void completeReceive(Qp peer) {
        long receive = peer.receives.own.takeDirectly();
        int done = isWrite() ? IbvWcOpcode.IBV_WC_RECV_RDMA_WITH_IMM : IbvWcOpcode.IBV_WC_RECV;
        int immediate = hasImmediate() ? word : Qp.bigEndian(word); // without one the field has no meaning
        Cq there = peer.recvCq;
        if (there != null) { // as find has seen
            there.addReserved(receive, done, (int) length, immediate, peer.number, peer.destinationQp,
                    hasImmediate() ? IbvWcFlags.IBV_WC_WITH_IMM : 0, peer.receives.own.occupied);
        }
    }
}
