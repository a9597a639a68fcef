package org.kverbs.spi;

/** Makes queue pairs of a driver's own type ({@code IBV_QPT_DRIVER}). */
public interface DriverQueuePairs extends DriverObjects {

    /**
     * Returns the data path of a queue pair that {@link #create} made. The requests that it gets carry their
     * destinations as {@code org.kverbs.internal.DriverAddress} lays them out.
     *
     * @param maxSendSge the limit that the driver gave in {@code cap}
     * @param maxInlineData the limit that the driver gave in {@code cap}
     */
    QueuePairOps ops(VerbsContext verbs, long qp, int maxSendSge, int maxInlineData);
}
