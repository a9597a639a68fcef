package org.kverbs.coroutines

import org.kverbs.RemoteMemory

/** A region that the peer of a [MessageChannel] may use; made by [MessageChannel.publish]. */
public class PublishedMemory internal constructor(
    /** What the peer knows it by. */
    public val name: String,
    /** What the peer was told. */
    public val memory: RemoteMemory,
    private val publications: ChannelPublications,
) {
    /**
     * Makes the peer forget the name. It may have kept address and key, so its access ends only with the region: close that. A second
     * call does nothing.
     */
    public suspend fun withdraw(): Unit = publications.withdraw(name)

    override fun toString(): String = "PublishedMemory($name, ${memory.length()} bytes)"
}
