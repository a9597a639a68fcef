package org.kverbs.embedded.internal.transport;

import java.nio.ByteOrder;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Task;
import org.kverbs.embedded.internal.objects.AddressVector;
import org.kverbs.embedded.internal.objects.CompletionUser;
import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.Keys;
import org.kverbs.embedded.internal.objects.Pd;
import org.kverbs.embedded.internal.objects.Referenced;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.embedded.internal.objects.XrcDomain;
import org.kverbs.embedded.internal.objects.XrcSrq;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.embedded.internal.watch.Quiet;
import org.kverbs.embedded.internal.wire.Opcode;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;
import org.kverbs.internal.abi.IbvWcStatus;
import org.kverbs.spi.QueuePairOps;

/** A queue pair ({@code struct ibv_qp}): its queues, its state, and what both directions share. */
public final class Qp extends Task implements KeyUser, CompletionUser {

    /** No packet of RoCE is for a raw packet queue pair. */
    private static final int NO_TRANSPORT = -1;

    final Hca hca;
    final int number;
    public final QpHandles handles;
    public final int type;
    // What each packet asks for and the type decides.
    private final int transport;
    private final boolean isReliable;
    private final boolean isXrc;
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
    final Arrivals arrivals = new Arrivals(this);
    public final DirectPath direct = new DirectPath(this);
    final Responder responder;
    final Datagrams datagrams;
    /** Sends and receives the frames of a raw packet queue pair; null for another type, or with {@link #spread}. */
    final @Nullable Frames frames;
    /** Spreads the frames over work queues; null for a queue pair without an indirection table. */
    final @Nullable Spread spread;

    final ReceiveSide receives;
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
    public Qp(Hca hca, QpHandle handle, Referenced referenced, int number, QpInit init) {
        this.hca = hca;
        this.handles = new QpHandles(handle);
        this.init = init;
        this.number = number;
        this.type = init.type();
        this.transport = transport(type);
        this.isReliable = transport == Opcode.RC || transport == Opcode.XRC;
        this.isXrc = transport == Opcode.XRC;
        this.pd = init.pd();
        this.sendCq = init.sendCq();
        this.recvCq = init.recvCq();
        this.srq = init.srq();
        this.domain = init.domain();
        this.signalsAll = init.signalsAll();
        Referenced named = domain == null ? referenced : Referenced.nothing();
        this.sends = new SendQueue(this, named, init.maxSendWr(), init.maxSendSge(), init.maxInline());
        this.poster = new Poster(hca.name, number);
        this.receives = new ReceiveSide(this, init.maxRecvWr(), init.maxRecvSge());
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

    /**
     * Returns the posts of this queue pair.
     *
     * @param whole whether a list of sends is posted as a whole or not at all
     */
    public QueuePairOps posts(boolean whole) {
        return new Posts(this, whole);
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

    /** Tells whether requests are acknowledged, as those of RC are. */
    boolean isReliable() {
        return isReliable;
    }

    /** Tells whether there is one peer, as for RC, UC and XRC. */
    boolean isConnected() {
        return type != IbvQpType.IBV_QPT_UD && type != IbvQpType.IBV_QPT_RAW_PACKET;
    }

    /** Tells whether it is one end of an extended reliable connection. */
    boolean isXrc() {
        return isXrc;
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
        handles.raise(IbvEventType.IBV_EVENT_QP_FATAL);
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
            handles.raise(IbvEventType.IBV_EVENT_SQ_DRAINED);
        }
    }

    /** Tells whether a request was begun and is not done. */
    boolean isSending() {
        return sends.size() > 0 && sends.get(0).started;
    }

    /** Tells whether the state takes packets. */
    boolean isReceiving() {
        return state == IbvQpState.IBV_QPS_RTR || state == IbvQpState.IBV_QPS_RTS || state == IbvQpState.IBV_QPS_SQD;
    }

    /** Returns the transport, which is in the opcode of each packet of this queue pair. */
    int transport() {
        return transport;
    }

    private static int transport(int type) {
        return switch (type) {
            case IbvQpType.IBV_QPT_RC -> Opcode.RC;
            case IbvQpType.IBV_QPT_XRC_SEND, IbvQpType.IBV_QPT_XRC_RECV -> Opcode.XRC;
            case IbvQpType.IBV_QPT_UC -> Opcode.UC;
            case IbvQpType.IBV_QPT_RAW_PACKET -> NO_TRANSPORT;
            default -> Opcode.UD;
        };
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

    /** Goes to the error state and flushes the posted requests in order (IBA volume 1, 10.3.1). */
    void toError() {
        if (state == IbvQpState.IBV_QPS_ERR || state == IbvQpState.IBV_QPS_RESET) {
            return;
        }
        hca.engine.copies().await(); // the program gets its buffers back
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
            handles.raise(IbvEventType.IBV_EVENT_QP_LAST_WQE_REACHED);
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
            handles.raise(IbvEventType.IBV_EVENT_QP_FATAL);
            toError();
        }
    }

    void setState(int next) {
        state = next;
        handles.showState(next);
    }

    /** Completes the posted requests with an error, in order. */
    void flush() {
        while (sends.size() > 0) {
            SendWqe wqe = sends.get(0);
            sends.pop();
            counted.sent(wqe.completionOpcode(), 0, true);
            completeSend(wqe, wqe.hasFailed() ? wqe.status : IbvWcStatus.IBV_WC_WR_FLUSH_ERR);
        }
        receives.flush();
    }

    /** Returns to the initial state. */
    void reset() {
        hca.engine.copies().await(); // the program gets its buffers back
        direct.reset();
        arrivals.reset();
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
        receives.own.clear();
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

    /** Continues after a request was added to a queue. */
    public void posted() {
        if (state == IbvQpState.IBV_QPS_ERR) {
            flush();
        } else {
            hca.engine.ready(this);
        }
    }
}
