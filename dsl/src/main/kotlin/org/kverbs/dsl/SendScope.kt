package org.kverbs.dsl

import org.kverbs.SendRequests

/**
 * What is posted, inside `qp.post { ... }`: an operation begins a request, and what follows adds to it. [V] is what the
 * queue pair's transport can do, and comes from the queue pair. It costs nothing: at run time it is the list of
 * requests itself.
 */
@RdmaDsl
@JvmInline
public value class SendScope<out V : Verbs>
    @PublishedApi
    internal constructor(
        /** The list that is being written. */
        public val requests: SendRequests,
    )
