package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.RemoteMemory
import java.lang.foreign.MemorySegment
import java.util.concurrent.atomic.AtomicBoolean

/** Memory of this side that the peer of a [MessageChannel] can use; made by [MessageChannel.publish]. */
public class PublishedMemory internal constructor(
    /** The name by which the peer knows it. */
    public val name: String,
    internal val region: MemoryRegion,
    internal val admission: ChannelAdmission,
    private val publications: ChannelPublications,
) {
    /** Address and key that the peer was told. */
    public val remote: RemoteMemory get() = admission.remote
    internal val isWithdrawn = AtomicBoolean()

    /** The memory itself, as long as it is published and the channel open. */
    public val memory: MemorySegment get() = region.memory()

    /**
     * Makes the peer forget the name. Memory that the channel registered is given back, which ends the peer's access:
     * an operation that comes after that fails, and with it the channel. For a region of the caller's, address and key
     * can stay good until the caller closes it. A second call does nothing.
     */
    public suspend fun withdraw(): Unit = publications.withdraw(this)

    /** Says the name and the length in bytes. */
    override fun toString(): String = "PublishedMemory($name, ${remote.length()} bytes)"
}
