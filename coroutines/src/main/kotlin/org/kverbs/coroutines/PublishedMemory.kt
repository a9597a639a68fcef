package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicBoolean

/** Describes memory of this side that the peer of a [MessageChannel] can use; returned by [MessageChannel.publish]. */
public class PublishedMemory internal constructor(
    /** The name under which the peer finds the memory. */
    public val name: String,
    internal val region: MemoryRegion,
    internal val admission: ChannelAdmission,
    private val publications: ChannelPublications,
) {
    /** The address and key that the peer got. */
    public val remote: RemoteMemory get() = admission.remote
    internal val isWithdrawn = AtomicBoolean()

    /** The memory, valid while it is published and the channel is open. */
    public val memory: MemorySegment get() = region.memory()

    /**
     * Withdraws the name from the peer. If the channel registered the memory, this ends the peer's access: a later
     * operation of the peer fails, and the channel with it. If the caller published its own region, the peer's access
     * can last until the caller closes the region. A second call does nothing.
     */
    public suspend fun withdraw(): Unit = publications.withdraw(this)

    /** Names the memory and its length in bytes. */
    override fun toString(): String = "PublishedMemory($name, ${remote.length()} bytes)"
}
