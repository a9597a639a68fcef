package org.kverbs.dsl

import org.kverbs.QueuePair

/**
 * A queue pair that has only the operations of its transport, the set [V]: `TypedQueuePair<RcVerbs>` has reads,
 * `TypedQueuePair<UcVerbs>` has none, and `TypedQueuePair<UdVerbs>` needs an address for each message. [qp] makes it,
 * so [V] always matches the transport. The functions that all types share are those of [queuePair]. The class costs
 * nothing: at run time it is the [queuePair] itself.
 */
@JvmInline
public value class TypedQueuePair<out V : Verbs> internal constructor(
    /** The queue pair without the set of operations. */
    public val queuePair: QueuePair,
) : AutoCloseable {
    /** Closes the queue pair; see [org.kverbs.Resource.close]. */
    override fun close(): Unit = queuePair.close()
}
