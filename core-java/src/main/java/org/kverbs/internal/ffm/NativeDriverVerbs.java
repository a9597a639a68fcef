package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.kverbs.internal.abi.IbvContext;
import org.kverbs.spi.CompletionQueueOps;
import org.kverbs.spi.DriverCompletionQueues.Readers;
import org.kverbs.spi.DriverVerbs;
import org.kverbs.spi.QueuePairOps;

/** What modules that know a driver need of an open device of libibverbs. */
final class NativeDriverVerbs implements DriverVerbs {

    private final Libibverbs verbs;
    private final ContextTables tables;
    private final Set<Long> extendedQueues;
    private final LongFunction<CompletionQueueOps> plainOps;

    /**
     * @param extendedQueues the set of the context, which gets the completion queues made here
     * @param plainOps gives the data path of a queue by the plain calls
     */
    NativeDriverVerbs(
            Libibverbs verbs,
            ContextTables tables,
            Set<Long> extendedQueues,
            LongFunction<CompletionQueueOps> plainOps) {
        this.verbs = verbs;
        this.tables = tables;
        this.extendedQueues = extendedQueues;
        this.plainOps = plainOps;
    }

    @Override
    public QueuePairOps queuePairOps(long qp, int maxSendSge, int maxInlineData, long object, long setAddress) {
        return new NativeExtendedQueuePairOps(
                verbs.qpToQpEx(qp), maxSendSge, maxInlineData, 0, tables.function(IbvContext.OPS_POST_RECV))
                .addressing(object, MemorySegment.ofAddress(setAddress));
    }

    @Override
    public CompletionQueueOps completionQueueOps(long cq, int fields, Readers readers) {
        return new NativeExtendedCompletionQueueOps(cq, plainOps.apply(cq), fields, new NativeDriverFields(readers));
    }

    @Override
    public long createCompletionQueue(LongSupplier call) {
        long cq = call.getAsLong();
        if (cq > 0) {
            extendedQueues.add(cq);
        }
        return cq;
    }
}
