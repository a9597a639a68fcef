package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.spi.CompletionQueueOps;

/** Polling and arming through a driver's function pointers. */
record NativeCompletionQueueOps(long cq, MemorySegment pollCq, MemorySegment requestNotifyCq)
        implements CompletionQueueOps {

    @Override
    public int poll(int count, long completions) {
        return Downcalls.poll(pollCq, cq, count, completions);
    }

    @Override
    public int requestNotify(boolean solicitedOnly) {
        int result = (int) Downcalls.call(requestNotifyCq, cq, solicitedOnly ? 1 : 0);
        return result > 0 ? -result : result;
    }
}
