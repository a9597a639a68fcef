package org.kverbs.blocking

import org.kverbs.coroutines.PublishedMemory
import org.kverbs.coroutines.blocking
import java.lang.foreign.MemorySegment

/**
 * Memory of this side that the peer of a [BlockingConnection] can use; made by [BlockingConnection.publish]. Any
 * thread.
 */
public class BlockingPublishedMemory internal constructor(
    private val published: PublishedMemory,
) {
    /** The name by which the peer knows it. */
    public fun name(): String = published.name

    /** The memory itself, as long as it is published and the connection open. */
    public fun memory(): MemorySegment = published.memory

    /**
     * Makes the peer forget the name, and ends its access: an operation of the peer's that comes after that fails, and
     * with it the connection. A second call does nothing.
     *
     * @throws org.kverbs.RdmaException if the connection has ended
     */
    @Throws(InterruptedException::class)
    public fun withdraw(): Unit = blocking { published.withdraw() }

    /** Says the name and the length in bytes. */
    override fun toString(): String = published.toString()
}
