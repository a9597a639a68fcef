package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.spi.CompletionQueueOps;

/** Polls and arms a completion queue through the function pointers of its driver. */
final class NativeCompletionQueueOps implements CompletionQueueOps {

    private final long cq;
    private final MemorySegment pollCq;
    private final MemorySegment requestNotifyCq;
    private final boolean isShort;
    /** True if a poll is made by a critical call. */
    private boolean isCritical;
    /** True if it is made by a critical call of {@link FirstPoll}. */
    private boolean isFirst;

    NativeCompletionQueueOps(long cq, MemorySegment pollCq, MemorySegment requestNotifyCq, boolean isShort) {
        this.cq = cq;
        this.pollCq = pollCq;
        this.requestNotifyCq = requestNotifyCq;
        this.isShort = isShort;
        this.isCritical = isShort;
        this.isFirst = isShort && FirstPoll.claim(pollCq);
    }

    @Override
    public boolean isShort() {
        return isShort;
    }

    @Override
    public int poll(int count, long completions) {
        if (isFirst) {
            return FirstPoll.poll(cq, count, completions);
        }
        return isCritical
                ? Downcalls.pollShort(pollCq, cq, count, completions)
                : Downcalls.poll(pollCq, cq, count, completions);
    }

    /**
     * Makes no more polls by critical calls. The efa driver holds a lock from the start to the completion of an
     * extended post and takes the same lock in a poll.
     */
    @Override
    public void expectExtendedPosts() {
        isCritical = false;
        isFirst = false;
    }

    @Override
    public int requestNotify(boolean solicitedOnly) {
        int result = (int) Downcalls.call(requestNotifyCq, cq, solicitedOnly ? 1 : 0);
        return result > 0 ? -result : result;
    }
}
