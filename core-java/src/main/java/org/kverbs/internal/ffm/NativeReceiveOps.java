package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;
import org.kverbs.spi.ReceiveOps;

/** Posts receives through the function pointer of a driver, which takes the queue first. */
sealed class NativeReceiveOps implements ReceiveOps permits NativeQueuePairOps, NativeExtendedQueuePairOps {

    private final long queue;
    private final MemorySegment postReceive;
    private final boolean shortPost;

    NativeReceiveOps(long queue, MemorySegment postReceive, boolean shortPost) {
        this.queue = queue;
        this.postReceive = postReceive;
        this.shortPost = shortPost;
    }

    @Override
    public final int postReceive(long workRequests, long badWorkRequest) {
        return post(postReceive, workRequests, badWorkRequest);
    }

    /**
     * Posts requests and returns 0 or -errno. Drivers return a positive errno; siw returns a negative one, and -1 for a
     * wrong state.
     */
    final int post(MemorySegment function, long workRequests, long badWorkRequest) {
        int result = shortPost
                ? Downcalls.postShort(function, queue, workRequests, badWorkRequest)
                : Downcalls.post(function, queue, workRequests, badWorkRequest);
        if (result == -1) {
            return -Errno.EINVAL;
        }
        return result > 0 ? -result : result;
    }
}
