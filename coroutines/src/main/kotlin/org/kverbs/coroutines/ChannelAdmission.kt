package org.kverbs.coroutines

import org.kverbs.RemoteMemory

/**
 * What lets the peer of a channel reach memory.
 *
 * @param remote what the peer needs
 * @param end ends the peer's access, where it does not end with the region alone
 */
internal class ChannelAdmission(
    val remote: RemoteMemory,
    private val end: () -> Unit,
) : AutoCloseable {
    override fun close(): Unit = end()
}
