package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.spi.CompletionQueueOps;

/** Polling and arming through a driver's function pointers. */
final class NativeCompletionQueueOps implements CompletionQueueOps {

    private final long cq;
    private final MemorySegment pollCq;
    private final MemorySegment requestNotifyCq;
    /** Whether a poll may be a critical call. */
    private boolean isShort;

    NativeCompletionQueueOps(long cq, MemorySegment pollCq, MemorySegment requestNotifyCq, boolean isShort) {
        this.cq = cq;
        this.pollCq = pollCq;
        this.requestNotifyCq = requestNotifyCq;
        this.isShort = isShort;
    }

    @Override
    public int poll(int count, long completions) {
        return isShort
                ? Downcalls.pollShort(pollCq, cq, count, completions)
                : Downcalls.poll(pollCq, cq, count, completions);
    }

    /**
     * The driver of efa takes in a poll the lock that it holds from the start to the completion of an extended post.
     */
    @Override
    public void expectExtendedPosts() {
        isShort = false;
    }

    @Override
    public int requestNotify(boolean solicitedOnly) {
        int result = (int) Downcalls.call(requestNotifyCq, cq, solicitedOnly ? 1 : 0);
        return result > 0 ? -result : result;
    }
}
