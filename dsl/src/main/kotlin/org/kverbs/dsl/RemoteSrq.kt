package org.kverbs.dsl

import org.kverbs.SharedReceiveQueue

/**
 * A shared receive queue of the peer, by its [number]: the destination of each operation over XRC. The peer tells
 * [SharedReceiveQueue.number]. It costs nothing: at run time it is the number itself.
 */
@JvmInline
public value class RemoteSrq(
    /** The number of the queue, 24 bits. */
    public val number: Int,
)

/** Returns the name of this queue for the peers' operations over XRC; errors as [SharedReceiveQueue.number]. */
public fun SharedReceiveQueue.remote(): RemoteSrq = RemoteSrq(number())
