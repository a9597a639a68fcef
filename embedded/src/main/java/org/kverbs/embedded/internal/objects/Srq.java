package org.kverbs.embedded.internal.objects;

import org.jspecify.annotations.Nullable;
import org.kverbs.embedded.Operation;
import org.kverbs.embedded.internal.watch.Poster;
import org.kverbs.internal.abi.Errno;
import org.kverbs.internal.abi.IbvEventType;
import org.kverbs.internal.abi.IbvRecvWr;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ReceiveOps;

/** A shared receive queue ({@code struct ibv_srq}). */
public final class Srq implements ReceiveOps {

    private final DeviceState device;
    private final AsyncEvents events;
    public final long address;
    public final Pd pd;
    final Poster poster;
    public ReceiveQueue queue;
    /** If fewer receives than this are left, an event is raised, once; 0 for never. */
    public int limit;
    public int users;
    /** What an XRC queue has besides; null for a basic queue. */
    public @Nullable XrcSrq xrc;

    /** The tagged buffers of a queue with tag matching; null for any other queue. */
    public @Nullable TagMatcher tags;

    public Srq(DeviceState device, AsyncEvents events, long address, Pd pd, int capacity, int maxEntries) {
        this.device = device;
        this.events = events;
        this.address = address;
        this.pd = pd;
        this.poster = new Poster(device.name, 0);
        this.queue = new ReceiveQueue(device, pd, poster, capacity, maxEntries, true);
    }

    /** Raises the limit event if it is due; called after a receive was taken. */
    public void checkLimit() {
        if (queue.size() < limit) {
            limit = 0;
            raise(IbvEventType.IBV_EVENT_SRQ_LIMIT_REACHED);
        }
    }

    void raise(int event) {
        events.raise(event, address);
    }

    /** Tells the diagnostics that the queue is being destroyed: its receives never complete. */
    public void forget() {
        if (device.watch != null) {
            device.watch.forget(poster);
        }
    }

    @Override
    public int postReceive(long workRequests, long badWorkRequest) {
        device.engine.enter();
        try {
            int refusal = device.refuse(Operation.POST_RECEIVE);
            if (refusal < 0) {
                Memory.putLong(badWorkRequest, workRequests);
                return refusal;
            }
            return postAll(queue, workRequests, badWorkRequest);
        } finally {
            device.engine.leave();
        }
    }

    /** Posts a list up to the first request that is refused. Returns 0 or -errno. */
    public static int postAll(ReceiveQueue queue, long workRequests, long badWorkRequest) {
        for (long request = workRequests; request != 0; request = Memory.getLong(request + IbvRecvWr.NEXT)) {
            int result = queue.post(request);
            if (result < 0) {
                Memory.putLong(badWorkRequest, request);
                return result;
            }
        }
        return 0;
    }

    /** Refuses a list at its first request. */
    public static int refuse(long workRequests, long badWorkRequest) {
        Memory.putLong(badWorkRequest, workRequests);
        return -Errno.EINVAL;
    }
}
