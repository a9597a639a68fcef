package org.kverbs.blocking

import org.kverbs.coroutines.PublishedMemory
import org.kverbs.coroutines.blocking
import java.lang.foreign.MemorySegment

/**
 * Describes memory of this side that the peer of a [BlockingConnection] can use; returned by
 * [BlockingConnection.publish]. Any thread can call.
 */
public class BlockingPublishedMemory internal constructor(
    private val published: PublishedMemory,
) {
    /** Returns the name under which the peer finds the memory. */
    public fun name(): String = published.name

    /** Returns the memory, valid while it is published and the connection is open. */
    public fun memory(): MemorySegment = published.memory

    /**
     * Withdraws the name from the peer, and ends the peer's access: a later operation of the peer fails, and the
     * connection with it. A second call does nothing.
     *
     * @throws org.kverbs.RdmaException if the connection has ended
     */
    @Throws(InterruptedException::class)
    public fun withdraw(): Unit = blocking { published.withdraw() }

    /** Names the memory and its length in bytes. */
    override fun toString(): String = published.toString()
}
