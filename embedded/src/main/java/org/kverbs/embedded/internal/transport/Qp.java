package org.kverbs.embedded.internal.transport;

import java.nio.ByteOrder;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.objects.AsyncEvents;
import org.kverbs.embedded.internal.objects.CompletionUser;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.Keys;
import org.kverbs.embedded.internal.objects.Occupancy;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.embedded.internal.objects.Referenced;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.embedded.internal.watch.Quiet;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvQp;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvSendWr;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.QueuePairOps;

/** A queue pair ({@code struct ibv_qp}): its queues, its state, and what both directions share. */
public final class Qp extends Task implements QueuePairOps, KeyUser, CompletionUser {

    /** No packet of RoCE is for a raw packet queue pair. */
    private static final int NO_TRANSPORT = -1;

    final Hca hca;
    final AsyncEvents events;
    final long address;
    final int number;
    public final int type;
    final Pd pd;
    final Cq sendCq;
    final Cq recvCq;
    final @Nullable Srq srq;
    final boolean signalsAll;
    public final SendQueue sends;
    final Poster poster;
    /** Unsignaled requests that are done, for the diagnostics. */
    final Quiet quiet = new Quiet();
    final Counters counters = new Counters();
    final Windows windows = new Windows(this);
    final Requester requester = new Requester(this);
    final Completer completer = new Completer(this);
    final Responder responder;
    final Datagrams datagrams;
    /** Sends and receives the frames of a raw packet queue pair; null for another type. */
    final @Nullable Frames frames;
    private final ReceiveQueue receives;
    /** The occupied slots of its own receive queue, or of the shared one. */
    final Occupancy receiving;
    private final QpInit init;
    /** The address of the attributes that {@link QpAttributes} keeps. */
    private long kept;

    public int state = IbvQpState.IBV_QPS_RESET;

    // Set by QpAttributes.
    final AddressVector route = new AddressVector();
    int pathMtu = 256;
    int destinationQp;
    int qkey;
    int access;
    int timeout;
    int retryCount;
    int rnrRetry;
    int minRnrTimer;
    int maxReadAtomic;
    int maxDestReadAtomic;
    boolean tellsWhenDrained;
    /**
     * Whether a message of the peer has come before the program knew that the connection is established (IBA volume 1,
     * 11.6.3.1).
     */
    private boolean toldEstablished;

    public Qp(Hca hca, AsyncEvents events, Referenced referenced, long address, int number, QpInit init) {
        this.hca = hca;
        this.events = events;
        this.init = init;
        this.address = address;
        this.number = number;
        this.type = init.type();
        this.pd = init.pd();
        this.sendCq = init.sendCq();
        this.recvCq = init.recvCq();
        this.srq = init.srq();
        this.signalsAll = init.signalsAll();
        this.sends = new SendQueue(this, referenced, init.maxSendWr(), init.maxSendSge(), init.maxInline());
        this.poster = new Poster(hca.name, number);
        this.receives = new ReceiveQueue(hca, pd, poster, init.maxRecvWr(), init.maxRecvSge());
        this.receiving = srq == null ? receives.occupied : srq.queue.occupied;
        int entries = srq == null ? init.maxRecvSge() : srq.queue.maxEntries();
        this.responder = new Responder(this, entries);
        this.datagrams = new Datagrams(this, entries);
        this.frames = type == IbvQpType.IBV_QPT_RAW_PACKET ? new Frames(this, entries) : null;
    }

    @Override
    public Pd pd() {
        return pd;
    }

    @Override
    public Keys keys() {
        return hca.keys;
    }

    public void keep(long attributes) {
        kept = attributes;
    }

    public long kept() {
        return kept;
    }

    /** Returns the counters by name. */
    public Map<String, Long> counted() {
        return counters.ofQueuePair();
    }

    /** Returns a number as it stands in big-endian order in memory. */
    static int bigEndian(int number) {
        return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? number : Integer.reverseBytes(number);
    }

    /** Returns the address of 8 bytes for a value in transit. */
    long scratch() {
        return hca.scratch.address();
    }

    ReceiveQueue receives() {
        return receives;
    }

    /** Tells whether a request may be sent now. */
    boolean maySend() {
        boolean sending = state == IbvQpState.IBV_QPS_RTS || state == IbvQpState.IBV_QPS_SQD;
        return sending && !completer.isHeldBack();
    }

    /** Writes the fields that all packets to the peer have in common. */
    void address(Packet packet) {
        route.address(packet, hca.gids);
        packet.destinationQp = destinationQp;
        packet.pkey = Hca.PKEY;
        // Packets of one connection keep one source port, so that the network keeps their order (IBA annex A17.4.8).
        packet.sourcePort = route.sourcePort(number ^ destinationQp);
    }

    /** Sends a packet of a request or an answer. */
    void send(Packet packet) {
        counters.count(Counter.SENT_PKTS, packet.psnCount);
        counters.count(Counter.SENT_BYTES, packet.payloadLength);
        hca.link.send(packet);
    }

    @Override
    protected void run() {
        if (type == IbvQpType.IBV_QPT_UD) {
            datagrams.run();
        } else if (frames != null) {
            frames.run();
        } else {
            responder.acknowledge();
            requester.run();
            if (type == IbvQpType.IBV_QPT_RC && state != IbvQpState.IBV_QPS_ERR) {
                completer.watch();
            }
        }
        checkDrained();
    }

    /**
     * Ends the queue pair after an exception in the middle of its work, such as one of freed memory, and tells both
     * sides.
     */
    @Override
    protected void failed() {
        if (state == IbvQpState.IBV_QPS_ERR || state == IbvQpState.IBV_QPS_RESET) {
            return;
        }
        events.raise(IbvEventType.IBV_EVENT_QP_FATAL, address);
        try {
            if (isReceiving()) {
                responder.giveUp();
            }
        } finally {
            toError();
        }
    }

    private void checkDrained() {
        if (tellsWhenDrained && state == IbvQpState.IBV_QPS_SQD && !isSending()) {
            tellsWhenDrained = false;
            events.raise(IbvEventType.IBV_EVENT_SQ_DRAINED, address);
        }
    }

    /** Tells whether a request was begun and is not done. */
    boolean isSending() {
        return sends.size() > 0 && sends.get(0).started;
    }

    /** Takes a packet. An exception ends this queue pair, or else the sender's. */
    void take(Packet packet) {
        try {
            receive(packet);
        } catch (Throwable e) {
            if (!isReadable(packet)) {
                throw e; // the packet came from memory to memory, and the sender's memory is gone: the sender ends
            }
            failed();
            hca.engine.report(e);
        }
    }

    private boolean isReadable(Packet packet) {
        try {
            if (packet.payloadLength > 0) {
                Memory.copy(packet.payload + packet.payloadLength - 1, scratch(), 1);
                Engine.throwPending();
            }
            return true;
        } catch (InternalError e) {
            return false;
        }
    }

    private void receive(Packet packet) {
        if (Opcode.transport(packet.opcode) != transport() || !isReceiving()) {
            hca.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        counters.count(Counter.RCVD_PKTS, packet.psnCount);
        counters.count(Counter.RCVD_BYTES, packet.payloadLength);
        if (type == IbvQpType.IBV_QPT_UD) {
            datagrams.take(packet);
        } else if (packet.sourceGidLow != route.gidLow || packet.sourceGidHigh != route.gidHigh) {
            hca.counters.count(Counter.PORT_RCV_ERRORS); // from a stranger (IBA volume 1, 9.6.1.2)
        } else if (Opcode.isRequest(packet.opcode)) {
            if (state == IbvQpState.IBV_QPS_RTR && !toldEstablished) {
                toldEstablished = true;
                events.raise(IbvEventType.IBV_EVENT_COMM_EST, address);
            }
            responder.take(packet);
        } else if (state != IbvQpState.IBV_QPS_RTR) {
            if (packet.opcode == Opcode.RC_ACK) {
                completer.acknowledged(packet);
            } else {
                completer.answered(packet);
            }
        }
    }

    /** Takes a frame that a flow rule gives to this queue pair. An exception ends the queue pair. */
    void takeFrame(long frame, int length, long frameNumber) {
        if (frames == null || !isReceiving()) {
            return;
        }
        try {
            frames.take(frame, length, frameNumber);
        } catch (Throwable e) {
            failed();
            hca.engine.report(e);
        }
    }

    private boolean isReceiving() {
        return state == IbvQpState.IBV_QPS_RTR || state == IbvQpState.IBV_QPS_RTS || state == IbvQpState.IBV_QPS_SQD;
    }

    private int transport() {
        return switch (type) {
            case IbvQpType.IBV_QPT_RC -> Opcode.RC;
            case IbvQpType.IBV_QPT_UC -> Opcode.UC;
            case IbvQpType.IBV_QPT_RAW_PACKET -> NO_TRANSPORT;
            default -> Opcode.UD;
        };
    }

    /** Takes the next receive, if there is one. */
    boolean takeReceive(ReceiveQueue.Receive target) {
        ReceiveQueue queue = srq == null ? receives : srq.queue;
        if (queue.size() == 0) {
            return false;
        }
        queue.take(target);
        if (srq != null) {
            srq.checkLimit();
            if (target.posted != null) {
                target.posted.takenBy(poster);
            }
        }
        return true;
    }

    void completeSend(SendWqe wqe, int status) {
        int bytes = wqe.isAtomic() ? Long.BYTES : (int) wqe.length;
        if (wqe.posted != null) {
            quiet.endAt(wqe.posted);
        }
        sendCq.add(wqe.id, status, wqe.completionOpcode(), bytes, 0, number, 0, 0, false, sends.occupied, wqe.posted);
    }

    /** Goes to the error state and flushes the posted requests in order (IBA volume 1, 10.3.1). */
    void toError() {
        if (state == IbvQpState.IBV_QPS_ERR || state == IbvQpState.IBV_QPS_RESET) {
            return;
        }
        setState(IbvQpState.IBV_QPS_ERR);
        completer.stop();
        requester.stop();
        responder.flush();
        datagrams.flush();
        if (frames != null) {
            frames.flush();
        }
        flush();
        if (srq != null) {
            events.raise(IbvEventType.IBV_EVENT_QP_LAST_WQE_REACHED, address);
        }
    }

    @Override
    public void touchesFile() {
        hca.engine.touchesFile();
    }

    @Override
    public void memoryFreed(long at, long bytes, int need) {
        hca.tellFreed(at, bytes, need, number);
    }

    @Override
    public void completionsLost() {
        if (state != IbvQpState.IBV_QPS_RESET && state != IbvQpState.IBV_QPS_ERR) {
            events.raise(IbvEventType.IBV_EVENT_QP_FATAL, address);
            toError();
        }
    }

    void setState(int next) {
        state = next;
        Memory.putInt(address + IbvQp.STATE, next);
    }

    private void flush() {
        while (sends.size() > 0) {
            SendWqe wqe = sends.get(0);
            sends.pop();
            completeSend(wqe, wqe.hasFailed() ? wqe.status : IbvWcStatus.IBV_WC_WR_FLUSH_ERR);
        }
        var receive = new ReceiveQueue.Receive(receives.maxEntries());
        while (receives.size() > 0) {
            receives.take(receive);
            int opcode = IbvWcOpcode.IBV_WC_RECV;
            int status = IbvWcStatus.IBV_WC_WR_FLUSH_ERR;
            recvCq.add(receive.id, status, opcode, 0, 0, number, 0, 0, false, receiving, receive.posted);
        }
    }

    /** Returns to the initial state. */
    void reset() {
        toldEstablished = false;
        completer.start(0);
        requester.stop();
        responder.start(0);
        datagrams.reset();
        if (frames != null) {
            frames.reset();
        }
        sendCq.forget(number);
        recvCq.forget(number);
        sends.clear();
        receives.clear();
        quiet.clear();
        if (hca.watch != null) {
            hca.watch.forget(poster);
        }
    }

    /** Destroys the queue pair; its posted requests never complete. */
    public void destroy() {
        state = IbvQpState.IBV_QPS_RESET;
        reset();
        hca.queuePairs.remove(number);
        hca.counters.addAll(counters);
        init.countUsers(-1);
        sendCq.users.remove(this);
        recvCq.users.remove(this);
    }

    @Override
    public int postSend(long workRequests, long badWorkRequest) {
        return postSend(workRequests, badWorkRequest, false);
    }

    private int postSend(long workRequests, long badWorkRequest, boolean whole) {
        hca.engine.enter();
        try {
            int refusal = hca.refuse(Operation.POST_SEND);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            if (state < IbvQpState.IBV_QPS_RTS) {
                return Srq.refuse(workRequests, badWorkRequest);
            }
            int before = sends.size();
            int result = 0;
            for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvSendWr.NEXT)) {
                result = sends.post(request);
                if (result < 0) {
                    Memory.putLong(badWorkRequest, whole && result == -Errno.ENOMEM ? workRequests : request);
                    break;
                }
            }
            if (whole && result < 0) {
                sends.cut(before);
            } else {
                sends.watch(before);
                posted();
            }
            return result;
        } finally {
            hca.engine.leave();
        }
    }

    /** Returns this queue pair for a caller that posts a list of sends as a whole or not at all. */
    public QueuePairOps whole() {
        return new QueuePairOps() {
            @Override
            public int postSend(long workRequests, long badWorkRequest) {
                return Qp.this.postSend(workRequests, badWorkRequest, true);
            }

            @Override
            public int postReceive(long workRequests, long badWorkRequest) {
                return Qp.this.postReceive(workRequests, badWorkRequest);
            }
        };
    }

    /** Continues after a request was added to a queue. */
    public void posted() {
        if (state == IbvQpState.IBV_QPS_ERR) {
            flush();
        } else {
            hca.engine.ready(this);
        }
    }

    @Override
    public int postReceive(long workRequests, long badWorkRequest) {
        hca.engine.enter();
        try {
            int refusal = hca.refuse(Operation.POST_RECEIVE);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            if (state == IbvQpState.IBV_QPS_RESET || srq != null) {
                Memory.putLong(badWorkRequest, workRequests);
                return -Errno.EINVAL;
            }
            int result = Srq.postAll(receives, workRequests, badWorkRequest);
            if (state == IbvQpState.IBV_QPS_ERR) {
                flush();
            }
            return result;
        } finally {
            hca.engine.leave();
        }
    }
}
