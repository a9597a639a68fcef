package org.kverbs.spi;

import java.util.function.LongSupplier;
import org.kverbs.internal.abi.Errno;

/**
 * What an open device of libibverbs has for modules that know its driver. Other devices have none of it, and their
 * methods are never called with an address of an object.
 */
public interface DriverVerbs {

    /** That of a device outside libibverbs. */
    DriverVerbs NONE = new DriverVerbs() {};

    /**
     * Returns the data path of an extended queue pair whose requests each name their destination. It posts as {@link
     * VerbsContext#extendedQueuePairOps} and tells the driver the destination of each request by {@code void
     * set_address(void *object, struct ibv_ah *, uint32_t number, uint64_t key)}.
     *
     * @param object the first argument of {@code setAddress}
     * @param setAddress the address of the function; 0 for {@code wr_set_ud_addr} of the queue pair
     */
    default QueuePairOps queuePairOps(long qp, int maxSendSge, int maxInlineData, long object, long setAddress) {
        throw new UnsupportedOperationException("this device has no queue pairs of a driver");
    }

    /**
     * Returns the data path of a queue of {@link DriverCompletionQueues}, as {@link
     * VerbsContext#extendedCompletionQueueOps} does.
     */
    default CompletionQueueOps completionQueueOps(long cq, int fields, DriverCompletionQueues.Readers readers) {
        throw new UnsupportedOperationException("this device has no completion queues of a driver");
    }

    /** Makes an extended completion queue by a call of the driver, and knows it as one from then on. */
    default long createCompletionQueue(LongSupplier call) {
        return -Errno.EOPNOTSUPP;
    }
}
