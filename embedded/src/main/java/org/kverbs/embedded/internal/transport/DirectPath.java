package org.kverbs.embedded.internal.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.Engine;
import org.kverbs.embedded.internal.engine.Place;
import org.kverbs.embedded.internal.engine.Sharers;
import org.kverbs.embedded.internal.objects.Cq;
import org.kverbs.embedded.internal.objects.DeviceState;
import org.kverbs.embedded.internal.objects.Srq;
import org.kverbs.internal.abi.IbvQpState;
import org.kverbs.internal.abi.IbvQpType;

/**
 * Carries out a short write or send between two queue pairs of this process at once: without packets, and without the
 * engine's lock, so that threads on other queue pairs do the same meanwhile. It only does what succeeds and has no
 * further consequence. It looks before it changes anything, and leaves the request to the usual path if anything is out
 * of the ordinary. What it leaves behind is what the usual path would have left, but for the windows of {@link
 * PeerWindow}, which only count where packets take time.
 *
 * <p>The caller is a sharer of the engine ({@link Sharers}), and besides locks both queue pairs and the completion
 * queues that get a completion. It waits for none of them: what another thread has makes it take the usual path.
 */
public final class DirectPath {

    /** The result of {@link #send} and {@link #receive} if the usual path is to do it. */
    static final int NOT_DONE = 1;
    /** The result if another thread has what is needed, mostly for a microsecond or less. Nothing has changed. */
    static final int IN_USE = 2;

    private static final VarHandle BUSY = handle();

    private final Qp qp;
    private final DirectMessage message = new DirectMessage();
    /** 1 while a thread without the engine's lock uses the queue pair; guards all of it. */
    @SuppressWarnings("UnusedVariable") // read by its handle
    private int busy;
    /** The peer of the last request; null if there was none since the last reset. */
    private @Nullable Qp peer;
    /** True if an exception came in the middle of a call, and {@link #settle} has not undone what it left. */
    private boolean broke;

    private long made;

    DirectPath(Qp qp) {
        this.qp = qp;
    }

    private static VarHandle handle() {
        try {
            return MethodHandles.lookup().findVarHandle(DirectPath.class, "busy", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Returns the number of requests and receives that went this way; called with the engine's lock held. */
    public long made() {
        return made;
    }

    private boolean lock() {
        return (int) BUSY.getOpaque(this) == 0 && BUSY.compareAndSet(this, 0, 1);
    }

    private void unlock() {
        BUSY.setRelease(this, 0);
    }

    /**
     * Carries out one {@code struct ibv_send_wr}, and returns 0. If it returns {@link #NOT_DONE} or {@link #IN_USE},
     * nothing has changed.
     */
    int send(long workRequests) {
        Engine engine = qp.hca.engine;
        if (engine.isVirtual() || qp.type != IbvQpType.IBV_QPT_RC || !DirectMessage.isUsual(workRequests)) {
            return NOT_DONE;
        }
        Place place = engine.sharers().enter();
        if (place == null) {
            return engine.sharers().mayOpen() ? IN_USE : NOT_DONE;
        }
        int mark = place.mark;
        try {
            int result = lock() ? sendLocked(workRequests) : IN_USE;
            place.leave();
            return result;
        } catch (Throwable e) {
            broke = true;
            if (place.mark == mark) { // or else the exception came after leave()
                place.mark = 0; // not leave(): on a stack that is too short any call throws
            }
            settleAfter(e);
            throw e;
        }
    }

    /**
     * Does {@link #settle} after an exception. Before it another thread can get in, and the peer can send. That does no
     * harm: a message of the peer uses nothing that a message to the peer changes. This queue pair itself sends nothing
     * until it has settled. On a stack that is too short that is left to its next call.
     */
    private void settleAfter(Throwable thrown) {
        if (thrown instanceof StackOverflowError) {
            return;
        }
        qp.hca.engine.enter();
        try {
            settle();
        } finally {
            qp.hca.engine.leave();
        }
    }

    /**
     * Undoes what an exception left, if there was one; called with the engine's lock held, so that no thread uses what
     * this path locks. Ends both queue pairs if one of them may know of a message alone.
     */
    void settle() {
        if (!broke) {
            return;
        }
        broke = false;
        Qp to = peer;
        free();
        if (to != null) {
            to.direct.free();
        }
        if (message.isHalfDone()) {
            message.forget();
            try {
                qp.failed();
            } finally {
                if (to != null && to.destinationQp == qp.number) { // it can have another peer by now
                    to.failed();
                }
            }
        }
    }

    private void free() {
        busy = 0;
        if (qp.sendCq != null) {
            qp.sendCq.free();
        }
        if (qp.recvCq != null) {
            qp.recvCq.free();
        }
    }

    /** Returns to the initial state; called with the engine's lock held. */
    void reset() {
        settle();
        peer = null;
    }

    private int sendLocked(long request) {
        try {
            Qp to = isReady() ? findPeer() : null;
            if (to == null) {
                return NOT_DONE;
            }
            return to.direct.lock() ? sendTo(request, to) : IN_USE;
        } finally {
            unlock();
        }
    }

    private int sendTo(long request, Qp to) {
        try {
            boolean fits = to.responder.awaits(qp.requester.nextPsn()) && message.find(request, qp, to);
            return fits ? moveTo(to) : NOT_DONE;
        } finally {
            to.direct.unlock();
        }
    }

    /** Moves the message if the completion queues of both ends, which can be one, have room for what it completes. */
    private int moveTo(Qp to) {
        Cq there = message.takesReceive() ? to.recvCq : null;
        Cq here = message.isSignaled() ? qp.sendCq : null;
        if (there == null || there == here) {
            return move(to, here, there == null ? 1 : 2);
        }
        if (!there.reserve()) {
            return IN_USE;
        }
        try {
            return there.admits(1) ? move(to, here, 1) : NOT_DONE;
        } finally {
            there.release();
        }
    }

    /** Moves the message if a completion queue has room for so many completions, or if none is given. */
    private int move(Qp to, @Nullable Cq cq, int completions) {
        if (cq == null) {
            return move(to);
        }
        if (!cq.reserve()) {
            return IN_USE;
        }
        try {
            return cq.admits(completions) ? move(to) : NOT_DONE;
        } finally {
            cq.release();
        }
    }

    private int move(Qp to) {
        message.move(qp, to);
        made++;
        return 0;
    }

    /** Tells whether the queue pair has nothing else to do, and nothing watches it. */
    private boolean isReady() {
        return qp.state == IbvQpState.IBV_QPS_RTS
                && !broke
                && qp.sends.size() == 0
                && qp.sends.occupied.count() < qp.sends.capacity()
                && qp.requester.isFree()
                && !qp.completer.isHeldBack()
                && !qp.pacer.isLimited()
                && isUnwatched(qp);
    }

    private static boolean isUnwatched(Qp any) {
        return any.hca.isUnobserved() && !any.counted.isAttached() && any.migration.isStill()
                && !any.route.marksCongestion();
    }

    /** Returns the peer if packets reach it at once, and it takes them as those of its peer; or else null. */
    private @Nullable Qp findPeer() {
        Qp found = peer;
        // A destroyed queue pair stays in RESET.
        if (found == null || found.number != qp.destinationQp || found.state == IbvQpState.IBV_QPS_RESET
                || !isFrom(qp, found) || !qp.hca.link.isNeighbour(found.hca)) {
            DeviceState device = qp.hca.link.neighbour(qp.route.gidHigh, qp.route.gidLow);
            found = device instanceof Hca hca ? hca.queuePairs.peek(qp.destinationQp) : null;
            peer = found;
        }
        boolean takes = found != null
                && found != qp
                && found.type == IbvQpType.IBV_QPT_RC
                && found.state == IbvQpState.IBV_QPS_RTS
                && found.pathMtu == qp.pathMtu
                && found.destinationQp == qp.number
                && isFrom(found, qp)
                && isFrom(qp, found)
                && !found.pacer.isLimited()
                && isUnwatched(found);
        return takes ? found : null;
    }

    /** Tells whether a queue pair knows its peer by the address of the peer's packets. */
    private static boolean isFrom(Qp one, Qp other) {
        return one.route.gidLow == other.hca.gids.low(other.route.sourceIndex)
                && one.route.gidHigh == other.hca.gids.high(other.route.sourceIndex);
    }

    /**
     * Posts a list of receives to the queue pair's own queue. Returns 0, or -errno with the refused request noted, or
     * {@link #NOT_DONE} or {@link #IN_USE}, as {@link #send} does.
     */
    int receive(long workRequests, long badWorkRequest) {
        Engine engine = qp.hca.engine;
        if (engine.isVirtual()) {
            return NOT_DONE;
        }
        Place place = engine.sharers().enter();
        if (place == null) {
            return engine.sharers().mayOpen() ? IN_USE : NOT_DONE;
        }
        int mark = place.mark;
        try {
            int result = lock() ? receiveLocked(workRequests, badWorkRequest) : IN_USE;
            place.leave();
            return result;
        } catch (Throwable e) {
            broke = true;
            if (place.mark == mark) { // or else the exception came after leave()
                place.mark = 0; // not leave(): on a stack that is too short any call throws
            }
            settleAfter(e);
            throw e;
        }
    }

    private int receiveLocked(long workRequests, long badWorkRequest) {
        try {
            boolean takes = qp.isReceiving() || qp.state == IbvQpState.IBV_QPS_INIT;
            if (!takes || qp.srq != null || qp.spread != null || qp.isXrc() || !qp.hca.isUnobserved()) {
                return NOT_DONE;
            }
            int result = Srq.postAll(qp.receives.own, workRequests, badWorkRequest);
            made++;
            return result;
        } finally {
            unlock();
        }
    }
}
