package org.kverbs.dsl

import org.kverbs.QueuePair

/**
 * A queue pair that offers only what its transport can do. [V] says what: `TypedQueuePair<RcVerbs>` has reads, a UC one
 * hasn't, and a UD one wants an address with each message. It costs nothing: at run time it is the [queuePair] itself,
 * which has everything that all types share. [qp] makes it, so that [V] is the type that it was made with.
 */
@JvmInline
public value class TypedQueuePair<out V : Verbs> internal constructor(
    /** The queue pair without the type. */
    public val queuePair: QueuePair,
) : AutoCloseable {
    /** Closes the queue pair; see [org.kverbs.Resource.close]. */
    override fun close(): Unit = queuePair.close()
}
