package org.kverbs.dsl

import org.kverbs.WorkQueue

/** Builds an indirection table. Valid only inside its block. */
@RdmaDsl
public class IndirectionTableBuilder internal constructor() {
    private val queues = mutableListOf<WorkQueue>()
    private var size: Int? = null

    /** Adds work queues, in the order of their entries. Required. */
    public fun entries(vararg queues: WorkQueue) {
        entries(queues.asList())
    }

    /** Adds work queues, in the order of their entries. Required. */
    public fun entries(queues: Iterable<WorkQueue>) {
        this.queues += queues
    }

    /**
     * Sets the number of entries, a power of 2: the work queues take turns in them. A number far above that of the
     * queues gives each about the same share, also if their number is no power of 2. Default: an entry for each queue.
     */
    public fun size(count: Int) {
        size = count
    }

    internal fun build(): List<WorkQueue> {
        require(queues.isNotEmpty()) { "an entry is missing: say entries(queue, ...)" }
        val count = size ?: queues.size
        require(count >= queues.size) { "size($count) is below the number of work queues, ${queues.size}" }
        return List(count) { queues[it % queues.size] }
    }
}
