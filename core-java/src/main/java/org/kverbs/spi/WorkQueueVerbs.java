package org.kverbs.spi;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.Errno;

/**
 * Work queues, and the indirection tables that choose among them. A provider that implements no method has none. {@link
 * VerbsContext#createQueuePairEx} makes a queue pair with a table.
 */
public interface WorkQueueVerbs {

    /** The verbs of a device without work queues. */
    WorkQueueVerbs NONE = new WorkQueueVerbs() {};

    /**
     * Makes a work queue, {@code struct ibv_wq}, by {@code struct ibv_wq_init_attr}, and updates its {@code max_wr} and
     * {@code max_sge} ({@code ibv_create_wq}).
     */
    default long createWorkQueue(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Changes a work queue by {@code struct ibv_wq_attr} ({@code ibv_modify_wq}). */
    default int modifyWorkQueue(long wq, MemorySegment attributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys a work queue ({@code ibv_destroy_wq}). */
    default int destroyWorkQueue(long wq) {
        return -Errno.EOPNOTSUPP;
    }

    /** Returns the data path of a work queue that {@link #createWorkQueue} made ({@code ibv_post_wq_recv}). */
    default ReceiveOps workQueueOps(long wq) {
        throw new UnsupportedOperationException("the device has no work queues");
    }

    /**
     * Makes an indirection table, {@code struct ibv_rwq_ind_table}, by {@code struct ibv_rwq_ind_table_init_attr}
     * ({@code ibv_create_rwq_ind_table}).
     */
    default long createIndirectionTable(MemorySegment initAttributes) {
        return -Errno.EOPNOTSUPP;
    }

    /** Destroys an indirection table ({@code ibv_destroy_rwq_ind_table}). */
    default int destroyIndirectionTable(long table) {
        return -Errno.EOPNOTSUPP;
    }
}
