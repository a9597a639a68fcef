package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.spi.QueuePairOps;

/** Posts to a queue pair through the function pointers of its driver. */
final class NativeQueuePairOps extends NativeReceiveOps implements QueuePairOps {

    private final MemorySegment postSend;

    NativeQueuePairOps(long qp, MemorySegment postSend, MemorySegment postReceive, boolean shortPost) {
        super(qp, postReceive, shortPost);
        this.postSend = postSend;
    }

    @Override
    public int postSend(long workRequests, long badWorkRequest) {
        return post(postSend, workRequests, badWorkRequest);
    }
}
