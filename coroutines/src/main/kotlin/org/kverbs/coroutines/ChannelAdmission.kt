package org.kverbs.coroutines

import org.kverbs.RemoteMemory

/**
 * Gives the peer of a channel access to memory, until it is closed.
 *
 * @param remote the address and key that the peer needs
 * @param end ends the peer's access, unless closing the region ends it
 */
internal class ChannelAdmission(
    val remote: RemoteMemory,
    private val end: () -> Unit,
) : AutoCloseable {
    override fun close(): Unit = end()
}
