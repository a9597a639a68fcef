package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaException
import java.net.InetSocketAddress

/**
 * Thrown when the peer of a [MessageChannel] breaks the protocol, or is not a message channel. The message names the
 * fault. The channel has ended.
 */
@OptIn(ExperimentalCoroutinesApi::class)
public class ChannelProtocolException internal constructor(
    private val fault: String,
) : RdmaException("$fault. Use the same function of the same version of kverbs at both ends."),
    CopyableThrowable<ChannelProtocolException> {
    /** Returns the same exception with the peer in its message, if the peer is known. */
    internal fun of(peer: InetSocketAddress?): ChannelProtocolException =
        if (peer == null) {
            this
        } else {
            ChannelProtocolException(fault + peerSuffix(peer)).also { it.stackTrace = stackTrace }
        }

    /** Copies the exception for another call; this exception is the cause of the copy. */
    override fun createCopy(): ChannelProtocolException =
        ChannelProtocolException(fault).also {
            it.initCause(this)
        }
}
