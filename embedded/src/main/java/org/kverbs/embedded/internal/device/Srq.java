package org.kverbs.embedded.internal.device;

import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.ffm.Memory;
import org.kverbs.spi.ReceiveOps;

/** A shared receive queue ({@code struct ibv_srq}). */
final class Srq implements ReceiveOps {

    private final Hca hca;
    private final AsyncEvents events;
    final long address;
    final Pd pd;
    final Poster poster;
    ReceiveQueue queue;
    /** Below how many receives an event is raised, once; 0 for never. */
    int limit;
    int users;

    Srq(Hca hca, AsyncEvents events, long address, Pd pd, int capacity, int maxEntries) {
        this.hca = hca;
        this.events = events;
        this.address = address;
        this.pd = pd;
        this.poster = new Poster(hca.name, 0);
        this.queue = new ReceiveQueue(hca, pd, poster, capacity, maxEntries);
    }

    /** After a receive was taken out. */
    void checkLimit() {
        if (queue.size() < limit) {
            limit = 0;
            events.raise(IbvEventType.IBV_EVENT_SRQ_LIMIT_REACHED, address);
        }
    }

    /** Before it goes: what is posted never completes. */
    void forget() {
        if (hca.watch != null) {
            hca.watch.forget(poster);
        }
    }

    @Override
    public int postReceive(long workRequests, long badWorkRequest) {
        hca.engine.enter();
        try {
            return postAll(queue, workRequests, badWorkRequest);
        } finally {
            hca.engine.leave();
        }
    }

    /** Posts a list up to the first that is refused. Returns 0 or -errno. */
    static int postAll(ReceiveQueue queue, long workRequests, long badWorkRequest) {
        for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvRecvWr.NEXT)) {
            int result = queue.post(request);
            if (result < 0) {
                Memory.putLong(badWorkRequest, request);
                return result;
            }
        }
        return 0;
    }

    /** A list that is refused at its first request. */
    static int refuse(long workRequests, long badWorkRequest) {
        Memory.putLong(badWorkRequest, workRequests);
        return -Errno.EINVAL;
    }
}
