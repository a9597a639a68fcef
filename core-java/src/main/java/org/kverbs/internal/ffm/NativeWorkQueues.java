package org.kverbs.internal.ffm;

import java.lang.foreign.MemorySegment;
import org.kverbs.internal.abi.IbvWq;
import org.kverbs.internal.abi.VerbsContext;
import org.kverbs.internal.memory.Memory;
import org.kverbs.spi.ReceiveOps;
import org.kverbs.spi.WorkQueueVerbs;

/** Work queues and indirection tables of a device of libibverbs. */
final class NativeWorkQueues implements WorkQueueVerbs {

    private final long context;
    private final ContextTables tables;
    private final boolean isShort;

    /** @param isShort whether the driver never enters the kernel in a post */
    NativeWorkQueues(long context, ContextTables tables, boolean isShort) {
        this.context = context;
        this.tables = tables;
        this.isShort = isShort;
    }

    // man 3 ibv_create_wq: pointer or NULL with errno
    @Override
    public long createWorkQueue(MemorySegment initAttributes) {
        long wq = tables.make(VerbsContext.CREATE_WQ, context, initAttributes.address());
        if (wq > 0) {
            initialize(wq);
        }
        return wq;
    }

    /**
     * Initializes what the inline function of verbs.h does and no driver: the mutex, the condition variable and the
     * count of events, by which a destruction waits for the acknowledgement of events. Zeros initialize all of them, as
     * PTHREAD_MUTEX_INITIALIZER and PTHREAD_COND_INITIALIZER do.
     */
    private static void initialize(long wq) {
        int end = IbvWq.EVENTS_COMPLETED + ContextTables.MUTEX_SHIFT + Integer.BYTES;
        Memory.at(wq + IbvWq.MUTEX, end - IbvWq.MUTEX).fill((byte) 0);
        Memory.putLong(wq + IbvWq.WQ_CONTEXT, 0);
    }

    // man 3 ibv_modify_wq: 0 or errno; mlx5 answers a wrong current state with -errno
    @Override
    public int modifyWorkQueue(long wq, MemorySegment attributes) {
        return tables.call(VerbsContext.MODIFY_WQ, wq, attributes.address());
    }

    // man 3 ibv_create_wq: 0 or errno
    @Override
    public int destroyWorkQueue(long wq) {
        return tables.call(VerbsContext.DESTROY_WQ, wq);
    }

    // man 3 ibv_post_wq_recv: 0 or errno; each work queue has a pointer of its own
    @Override
    public ReceiveOps workQueueOps(long wq) {
        return new NativeReceiveOps(
                wq, MemorySegment.ofAddress(ContextTables.pointerAt(wq + IbvWq.POST_RECV)), isShort);
    }

    // man 3 ibv_create_rwq_ind_table: pointer or NULL with errno
    @Override
    public long createIndirectionTable(MemorySegment initAttributes) {
        return tables.make(VerbsContext.CREATE_RWQ_IND_TABLE, context, initAttributes.address());
    }

    // man 3 ibv_create_rwq_ind_table: 0 or errno
    @Override
    public int destroyIndirectionTable(long table) {
        return tables.call(VerbsContext.DESTROY_RWQ_IND_TABLE, table);
    }
}
