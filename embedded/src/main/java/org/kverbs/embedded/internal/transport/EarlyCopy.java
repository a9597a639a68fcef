package org.kverbs.embedded.internal.transport;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.internal.engine.LongCopies;
import org.kverbs.embedded.internal.engine.LongCopy;
import org.kverbs.embedded.internal.objects.DeviceState;
import org.kverbs.embedded.internal.objects.MemoryKey;
import org.kverbs.embedded.internal.wire.Packet;
import org.kverbs.internal.abi.IbvQpType;

/**
 * Copies the payload of a long write or send to the peer's memory, or the data of a long read from it, without the
 * engine's lock: the posts, polls and copies of other queue pairs go on meanwhile. The queue pair sends nothing
 * meanwhile, and then sends its packet with the lock held, as it sends any other. The peer checks the packet as ever.
 * The receiver of the payload leaves out the copy if the bytes belong where they are already. So no acknowledgement, no
 * answer and no completion precedes the bytes; if anything has changed, the packet is refused, or its bytes are copied
 * once more.
 *
 * <p>A read that gets a copy is requested in steps. The peer answers the request of a step when it comes, without a
 * release of the lock in between, and uses what was copied for this answer alone.
 *
 * <p>This is for reliable connections in this process whose packets arrive when they are sent, and for memory that is
 * there at once: not for files, which can shrink, for pages on demand, windows, device memory, or shared receive
 * queues. Everything else is copied with the lock held. {@link LongCopies#await} lets nothing end that a copy uses.
 */
final class EarlyCopy extends LongCopy {

    /** The fewest bytes: below, releasing and taking the lock costs more than others gain. */
    static final int LEAST = 32 << 10;

    private final Qp qp;
    private final Requester requester;
    /** True from the time at which the copy is queued until it has ended. */
    private boolean isOngoing;
    /** True if the packet that comes next has had its copy, or its attempt at one. */
    private boolean isTried;
    /** True if the last copy that began found its memory. */
    private boolean isFound;
    /** True if the bytes are in place for the packet that comes next. */
    private boolean isPlaced;
    /** True if the queue pair was reset or failed since the copy was queued. */
    private boolean isStale;

    EarlyCopy(Qp qp, Requester requester) {
        this.qp = qp;
        this.requester = requester;
    }

    /** Tells whether the next packet, of this long request, waits for its copy, which makes the queue pair ready. */
    boolean mustWait(SendWqe wqe) {
        if (isOngoing || isTried) {
            return isOngoing;
        }
        if (!find(wqe)) {
            return false;
        }
        isOngoing = true;
        isStale = false;
        qp.hca.engine.copies().add(this);
        return true;
    }

    /** Tells whether a long request that was not begun may get an early copy. */
    boolean mayConcern(SendWqe wqe) {
        return (!wqe.isAnswered() || wqe.isRead())
                && qp.hca.engine.copies().arePossible()
                && qp.hca.link.carriesWholeMessages();
    }

    /** Forgets the copy for the next packet: the queue pair is reset, fails, or leaves its peer. */
    void cancel() {
        isStale = true;
        forget();
    }

    /** Tells whether the next packet is about one step: it was copied, or a verb has spoiled the copy. */
    boolean isStep() {
        return isTried && isFound;
    }

    /**
     * Notes in the next packet where its payload is already, or the answer to its read, if it is; and forgets that.
     * Both ends compare the addresses with their own: {@link Packet#payload} and {@link Packet#placed}.
     */
    void fill(Packet packet, SendWqe wqe) {
        boolean fits = isPlaced;
        forget();
        if (fits && wqe.isRead()) {
            fits = Integer.toUnsignedLong(packet.dmaLength) == bytes;
            packet.payload = from;
        } else if (fits) {
            fits = packet.payload == from && packet.payloadLength == bytes;
        }
        packet.placed = fits ? to : 0;
    }

    @Override
    protected boolean begin() {
        SendQueue sends = qp.sends;
        boolean sending = !isStale && qp.maySend() && sends.cursor() < sends.size();
        isFound = sending && find(sends.get(sends.cursor()));
        return isFound;
    }

    @Override
    protected void end(boolean done) {
        isOngoing = false;
        isTried = !isStale;
        isPlaced = !isStale && done;
        if (qp.maySend()) {
            qp.hca.engine.ready(qp);
        }
    }

    @Override
    protected void forget() {
        isTried = false;
        isPlaced = false;
    }

    /** Finds the memory of the next packet at both ends. Returns false if it is not for an early copy. */
    private boolean find(SendWqe wqe) {
        Hca hca = qp.hca;
        int most = Math.min(wqe.psns - wqe.sent, Requester.STEP / qp.pathMtu);
        long offset = (long) wqe.sent * qp.pathMtu;
        bytes = Math.min(wqe.length - offset, (long) most * qp.pathMtu);
        if (bytes < LEAST || !wqe.started || wqe.done || !mayConcern(wqe) || qp.pacer.isLimited()
                || !hca.isUnobserved() || !requester.isQuietBefore(wqe)) {
            return false;
        }
        Qp peer = peer(wqe);
        if (peer == null) {
            return false;
        }
        long near = wqe.plain(offset, bytes, qp);
        if (near == MemoryKey.NONE) {
            return false;
        }
        long far = wqe.isRead() ? peer.responder.source(wqe, offset) : peer.responder.place(wqe, offset, bytes);
        from = wqe.isRead() ? far : near;
        to = wqe.isRead() ? near : far;
        return far != MemoryKey.NONE;
    }

    /** Returns the peer if the next packet reaches it at once and is the one that it expects, or else null. */
    private @Nullable Qp peer(SendWqe wqe) {
        DeviceState device = qp.hca.link.neighbour(qp.route.gidHigh, qp.route.gidLow);
        if (qp.type != IbvQpType.IBV_QPT_RC || !(device instanceof Hca hca) || !hca.isUnobserved()) {
            return null;
        }
        Qp peer = hca.queuePairs.get(qp.destinationQp);
        boolean expects = peer != null
                && peer.type == qp.type
                && peer.isReceiving()
                && peer.destinationQp == qp.number
                && peer.route.gidLow == qp.hca.gids.low(qp.route.sourceIndex)
                && peer.route.gidHigh == qp.hca.gids.high(qp.route.sourceIndex)
                && peer.responder.expectedPsn() == Psn.plus(wqe.firstPsn, wqe.sent);
        return expects ? peer : null;
    }
}
