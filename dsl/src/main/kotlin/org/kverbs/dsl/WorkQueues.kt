package org.kverbs.dsl

import org.kverbs.Context
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.ReceiveIndirectionTable
import org.kverbs.WorkQueue
import org.kverbs.attributes.WorkQueueState

/**
 * Makes a work queue: `pd.workQueue { cq(cq); ready() }` (ibv_create_wq).
 *
 * @throws IllegalArgumentException if the completion queue is missing
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun ProtectionDomain.workQueue(block: WorkQueueBuilder.() -> Unit): WorkQueue {
    val settings = WorkQueueBuilder().apply(block)
    return workQueue(settings.build()).closingOnFailure {
        if (settings.isReady) it.modify(WorkQueueState.RDY)
        it
    }
}

/**
 * Makes a table of work queues: `device.indirectionTable { entries(queues); size(128) }` (ibv_create_rwq_ind_table).
 *
 * @throws IllegalArgumentException if there is no entry, or if their number is not a power of 2
 * @throws org.kverbs.RdmaSystemException if the device refuses
 */
public fun Context.indirectionTable(block: IndirectionTableBuilder.() -> Unit): ReceiveIndirectionTable =
    indirectionTable(IndirectionTableBuilder().apply(block).build())

/** Posts a receive request; errors as [WorkQueue.postReceive]. */
public fun WorkQueue.postReceive(
    into: MemorySlice,
    id: Long = 0,
): Unit = postReceive(id, into)
