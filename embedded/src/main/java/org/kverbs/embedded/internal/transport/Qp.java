package org.kverbs.embedded.internal.transport;

import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
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
import org.kverbs.embedded.internal.objects.XrcDomain;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.embedded.internal.watch.Quiet;
import org.kverbs.embedded.internal.wire.FrameHeaders;
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
    final int number;
    /** One for each context that has the queue pair, and for each time that a context opened it. */
    private final List<QpHandle> handles = new ArrayList<>(1);
    public final int type;
    final Pd pd;
    final @Nullable Cq sendCq;
    final @Nullable Cq recvCq;
    final @Nullable Srq srq;
    /** The XRC domain of an XRC_RECV queue pair; null for any other. */
    public final @Nullable XrcDomain domain;
    final boolean signalsAll;
    public final SendQueue sends;
    final Poster poster;
    /** Unsignaled requests that are done, for the diagnostics. */
    final Quiet quiet = new Quiet();
    final Counters counters = new Counters();
    /** The completion counters that are attached. */
    public final CountedOperations counted = new CountedOperations();
    final Windows windows = new Windows(this);
    final Requester requester = new Requester(this);
    final Pacer pacer = new Pacer(this);
    final PathMigration migration = new PathMigration(this);
    final Congestion congestion = new Congestion(this);
    final Completer completer = new Completer(this);
    final Responder responder;
    final Datagrams datagrams;
    /** Sends and receives the frames of a raw packet queue pair; null for another type, or with {@link #spread}. */
    final @Nullable Frames frames;
    /** Spreads the frames over work queues; null for a queue pair without an indirection table. */
    final @Nullable Spread spread;

    private final ReceiveQueue receives;
    /** The occupied slots of its own receive queue, or of the shared one. */
    final Occupancy receiving;
    private final QpInit init;
    private @Nullable QpAttributes attributes;

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

    public Qp(Hca hca, QpHandle handle, Referenced referenced, int number, QpInit init) {
        this.hca = hca;
        this.handles.add(handle);
        this.init = init;
        this.number = number;
        this.type = init.type();
        this.pd = init.pd();
        this.sendCq = init.sendCq();
        this.recvCq = init.recvCq();
        this.srq = init.srq();
        this.domain = init.domain();
        this.signalsAll = init.signalsAll();
        Referenced named = domain == null ? referenced : Referenced.nothing();
        this.sends = new SendQueue(this, named, init.maxSendWr(), init.maxSendSge(), init.maxInline());
        this.poster = new Poster(hca.name, number);
        this.receives = new ReceiveQueue(hca, pd, poster, init.maxRecvWr(), init.maxRecvSge());
        this.receiving = srq == null ? receives.occupied : srq.queue.occupied;
        int entries = domain != null || srq != null && srq.tags != null
                ? Math.max(1, hca.limits.entries())
                : srq == null ? init.maxRecvSge() : srq.queue.maxEntries();
        this.responder = new Responder(this, entries);
        this.datagrams = new Datagrams(this, entries);
        this.spread = init.spread();
        this.frames = type == IbvQpType.IBV_QPT_RAW_PACKET && spread == null ? new Frames(this, entries) : null;
        if (spread != null) {
            setState(IbvQpState.IBV_QPS_RTR);
        }
    }

    @Override
    public Pd pd() {
        return pd;
    }

    @Override
    public Keys keys() {
        return hca.keys;
    }

    /** Limits the rate of the requests, in kilobits a second; 0 ends the limit. */
    public void limitRate(long kbps, long burstBytes) {
        pacer.limit(kbps, burstBytes);
    }

    public void keep(QpAttributes kept) {
        attributes = kept;
    }

    /** Returns what {@link #keep} was given; null if the creation failed before that. */
    public @Nullable QpAttributes attributes() {
        return attributes;
    }

    /** Lets another context, or this one again, have an XRC_RECV queue pair. */
    public void open(QpHandle handle) {
        handles.add(handle);
    }

    /**
     * Ends the handle with a structure. Returns whether it was the last one, so that the queue pair must be destroyed.
     */
    public boolean close(long structure) {
        return handles.removeIf(each -> each.structure() == structure && uncount(each)) && handles.isEmpty();
    }

    /** Ends all handles of a context; see {@link #close(long)}. */
    public boolean close(AsyncEvents context) {
        return handles.removeIf(each -> each.events() == context && uncount(each)) && handles.isEmpty();
    }

    private static boolean uncount(QpHandle handle) {
        if (handle.opened() != null) {
            handle.opened().users--;
        }
        return true;
    }

    /** Raises an event of this queue pair in each context that has it. */
    void raise(int event) {
        for (QpHandle each : handles) {
            each.events().raise(event, each.structure());
        }
    }

    /** Tells whether requests are acknowledged, as those of RC are. */
    boolean isReliable() {
        return type != IbvQpType.IBV_QPT_UC && type != IbvQpType.IBV_QPT_UD && type != IbvQpType.IBV_QPT_RAW_PACKET;
    }

    /** Tells whether there is one peer, as for RC, UC and XRC. */
    boolean isConnected() {
        return type != IbvQpType.IBV_QPT_UD && type != IbvQpType.IBV_QPT_RAW_PACKET;
    }

    private boolean isXrc() {
        return type == IbvQpType.IBV_QPT_XRC_SEND || domain != null;
    }

    /** Returns the queue that a request of XRC names, if there is one in the domain of this queue pair. */
    @Nullable XrcSrq named(Packet request) {
        XrcSrq found = hca.xrcQueues.get(request.sharedQueue);
        return found != null && found.opened.domain == domain ? found : null;
    }

    /** Returns the counters by name. */
    public Map<String, Long> counted() {
        return counters.ofQueuePair(congestion.rate());
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
        packet.migrated = migration.marks();
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
            datagrams.sends.run();
        } else if (frames != null) {
            frames.sends.run();
        } else {
            responder.acknowledge();
            requester.run();
            if (isReliable() && state != IbvQpState.IBV_QPS_ERR) {
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
        raise(IbvEventType.IBV_EVENT_QP_FATAL);
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
            raise(IbvEventType.IBV_EVENT_SQ_DRAINED);
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
        if (packet.opcode == Opcode.CNP && isReceiving()) {
            congestion.notified(packet);
            return;
        }
        if (Opcode.transport(packet.opcode) != transport() || !isReceiving() || isOfWrongSide(packet.opcode)) {
            hca.counters.count(Counter.PORT_RCV_ERRORS);
            return;
        }
        counters.count(Counter.RCVD_PKTS, packet.psnCount);
        counters.count(Counter.RCVD_BYTES, packet.payloadLength);
        if (type == IbvQpType.IBV_QPT_UD) {
            datagrams.take(packet);
            return;
        }
        if (!migration.admits(packet)) {
            hca.counters.count(Counter.PORT_RCV_ERRORS); // from a stranger (IBA volume 1, 9.6.1.2)
            return;
        }
        congestion.see(packet);
        if (Opcode.isRequest(packet.opcode)) {
            if (state == IbvQpState.IBV_QPS_RTR && !toldEstablished) {
                toldEstablished = true;
                raise(IbvEventType.IBV_EVENT_COMM_EST);
            }
            responder.take(packet);
        } else if (state != IbvQpState.IBV_QPS_RTR) {
            if (Opcode.operation(packet.opcode) == Opcode.RC_ACK) {
                completer.acknowledged(packet);
            } else {
                completer.answered(packet);
            }
        }
    }

    /** Takes a frame that a flow rule gives to this queue pair. An exception ends the queue pair. */
    void takeFrame(long frame, int length, long frameNumber, FrameHeaders headers) {
        if (spread != null && isReceiving()) {
            spread.take(frame, length, frameNumber, headers, counters);
            return;
        }
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

    /** Tells whether a packet of XRC is a request to a sender or an answer to a receiver. */
    private boolean isOfWrongSide(int opcode) {
        return isXrc() && Opcode.isRequest(opcode) != (domain != null);
    }

    /** Returns the transport, which is in the opcode of each packet of this queue pair. */
    int transport() {
        return switch (type) {
            case IbvQpType.IBV_QPT_RC -> Opcode.RC;
            case IbvQpType.IBV_QPT_XRC_SEND, IbvQpType.IBV_QPT_XRC_RECV -> Opcode.XRC;
            case IbvQpType.IBV_QPT_UC -> Opcode.UC;
            case IbvQpType.IBV_QPT_RAW_PACKET -> NO_TRANSPORT;
            default -> Opcode.UD;
        };
    }

    /** Takes the next receive, if there is one. */
    boolean takeReceive(ReceiveQueue.Receive target) {
        return takeReceive(target, srq);
    }

    /** Takes the next receive of a shared queue, or of the own one for null. */
    boolean takeReceive(ReceiveQueue.Receive target, @Nullable Srq shared) {
        ReceiveQueue queue = shared == null ? receives : shared.queue;
        if (queue.size() == 0) {
            return false;
        }
        queue.take(target);
        if (shared != null) {
            shared.checkLimit();
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
        if (sendCq != null) {
            sendCq.add(
                    wqe.id, status, wqe.completionOpcode(), bytes, 0, number, 0, 0, false, sends.occupied, wqe.posted);
        }
    }

    /** Completes a receive of the own queue or of a basic shared one. */
    void completeReceive(ReceiveQueue.Receive receive, int status, int opcode, int bytes, int word, int sourceQp,
            int flags, boolean solicited) {
        counted.received(bytes, status != IbvWcStatus.IBV_WC_SUCCESS);
        if (recvCq != null) {
            recvCq.add(receive.id, status, opcode, bytes, word, number, sourceQp, flags, solicited, receiving,
                    receive.posted);
        }
    }

    /** Goes to the error state and flushes the posted requests in order (IBA volume 1, 10.3.1). */
    void toError() {
        if (state == IbvQpState.IBV_QPS_ERR || state == IbvQpState.IBV_QPS_RESET) {
            return;
        }
        setState(IbvQpState.IBV_QPS_ERR);
        completer.stop();
        requester.stop();
        pacer.stop();
        congestion.stop();
        responder.flush();
        datagrams.flush();
        if (frames != null) {
            frames.flush();
        }
        flush();
        if (srq != null || domain != null) {
            raise(IbvEventType.IBV_EVENT_QP_LAST_WQE_REACHED);
        }
    }

    @Override
    public void touchesFile() {
        hca.engine.touchesFile();
    }

    @Override
    public void pagesMissed(long pages) {
        counters.count(Counter.PAGE_FAULTS, pages);
    }

    @Override
    public void memoryFreed(long at, long bytes, int need) {
        hca.tellFreed(at, bytes, need, number);
    }

    @Override
    public void completionsLost() {
        if (state != IbvQpState.IBV_QPS_RESET && state != IbvQpState.IBV_QPS_ERR) {
            raise(IbvEventType.IBV_EVENT_QP_FATAL);
            toError();
        }
    }

    void setState(int next) {
        state = next;
        for (QpHandle each : handles) {
            Memory.putInt(each.structure() + IbvQp.STATE, next);
        }
    }

    private void flush() {
        while (sends.size() > 0) {
            SendWqe wqe = sends.get(0);
            sends.pop();
            counted.sent(wqe.completionOpcode(), 0, true);
            completeSend(wqe, wqe.hasFailed() ? wqe.status : IbvWcStatus.IBV_WC_WR_FLUSH_ERR);
        }
        var receive = new ReceiveQueue.Receive(receives.maxEntries());
        while (receives.size() > 0) {
            receives.take(receive);
            completeReceive(
                    receive, IbvWcStatus.IBV_WC_WR_FLUSH_ERR, IbvWcOpcode.IBV_WC_RECV, 0, 0, 0, 0, false);
        }
    }

    /** Returns to the initial state. */
    void reset() {
        toldEstablished = false;
        migration.reset();
        completer.start(0);
        requester.stop();
        pacer.stop();
        congestion.stop();
        responder.start(0);
        datagrams.reset();
        if (frames != null) {
            frames.reset();
        }
        if (sendCq != null) {
            sendCq.forget(number);
        }
        if (recvCq != null) {
            recvCq.forget(number);
        }
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
        counted.detach();
        init.countUsers(-1);
        if (sendCq != null) {
            sendCq.users.remove(this);
        }
        if (recvCq != null) {
            recvCq.users.remove(this);
        }
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
            if (state == IbvQpState.IBV_QPS_RESET || srq != null || spread != null || isXrc()) {
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
