package org.kverbs.embedded.internal.transport;

import org.kverbs.embedded.internal.objects.Counter;
import org.kverbs.embedded.internal.objects.Counters;
import org.kverbs.embedded.internal.objects.KeyUser;
import org.kverbs.embedded.internal.objects.ReceiveQueue;
import org.kverbs.internal.abi.IbvWcOpcode;
import org.kverbs.internal.abi.IbvWcStatus;

/**
 * Puts Ethernet frames into receives, of a raw packet queue pair or of a work queue. Guarded by the engine's lock.
 */
abstract class FrameReceiver {

    private final Hca hca;
    private final KeyUser user;
    private final ReceiveQueue.Receive receive;
    private boolean hasReceive;

    /** @param user whose memory the receives may name */
    FrameReceiver(Hca hca, KeyUser user, int maxEntries) {
        this.hca = hca;
        this.user = user;
        this.receive = new ReceiveQueue.Receive(maxEntries);
    }

    /** Takes the next receive. Returns false if there is none. */
    abstract boolean next(ReceiveQueue.Receive target);

    /** Adds the completion of a receive. */
    abstract void add(ReceiveQueue.Receive done, int status, int bytes);

    /** Ends the owner after a failure. */
    abstract void fail();

    /** Returns how many bytes of a frame go to memory. */
    int written(long frame, int length) {
        return length;
    }

    /** Writes a frame. Returns false if the memory is not there. */
    boolean write(ReceiveQueue.Receive to, long frame, int length) {
        return to.write(0, frame, length, user);
    }

    /**
     * Takes a frame, if a receive is posted. A frame that is too long completes its receive with an error, and the
     * owner goes on: so strangers cannot stop it.
     */
    final void take(long frame, int length, Counters counters) {
        if (!next(receive)) {
            counters.count(Counter.OUT_OF_BUFFER);
            return;
        }
        hasReceive = true;
        counters.count(Counter.RCVD_PKTS);
        counters.count(Counter.RCVD_BYTES, length);
        int injected = hca.injected(IbvWcOpcode.IBV_WC_RECV);
        if (injected != IbvWcStatus.IBV_WC_SUCCESS) {
            complete(injected, 0);
            fail();
            return;
        }
        int bytes = written(frame, length);
        boolean fits = bytes <= receive.length;
        boolean isWritten = fits && receive.isWritable(user) && write(receive, frame, length);
        hca.engine.touched();
        int failure = fits ? IbvWcStatus.IBV_WC_LOC_PROT_ERR : IbvWcStatus.IBV_WC_LOC_LEN_ERR;
        complete(isWritten ? IbvWcStatus.IBV_WC_SUCCESS : failure, bytes);
        if (fits && !isWritten) {
            fail();
        }
    }

    private void complete(int status, int bytes) {
        hasReceive = false;
        add(receive, status, bytes);
    }

    /** Forgets a receive that an exception left behind. Returns whether there was one. */
    final boolean drop() {
        boolean had = hasReceive;
        hasReceive = false;
        return had;
    }

    /** Completes a receive that an exception left behind. */
    final void flush() {
        if (hasReceive) {
            complete(IbvWcStatus.IBV_WC_WR_FLUSH_ERR, 0);
        }
    }

    /** Completes that receive, and all that can be taken. */
    final void flushAll() {
        flush();
        while (next(receive)) {
            complete(IbvWcStatus.IBV_WC_WR_FLUSH_ERR, 0);
        }
    }
}
