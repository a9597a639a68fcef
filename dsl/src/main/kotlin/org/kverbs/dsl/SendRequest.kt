package org.kverbs.dsl

/**
 * A request that an operation of [SendScope] has added. Inside the same block, `signaled()`, `solicited()`, `fence()`
 * and `and(buffer)` change it. In a block of another post, nested or later, they throw an IllegalStateException.
 *
 * It costs nothing: at run time it is a number, of the list and of the request's place in it. The numbers of lists
 * repeat after 2^32 posts, so do not keep a request.
 */
@JvmInline
public value class SendRequest<out V : Verbs> internal constructor(
    internal val ticket: Long,
)
