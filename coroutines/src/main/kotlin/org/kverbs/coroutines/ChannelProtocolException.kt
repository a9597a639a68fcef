package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaException

/**
 * The peer of a [MessageChannel] broke its protocol, or is no such channel. The message says what came; the channel is
 * of no use after it.
 */
@OptIn(ExperimentalCoroutinesApi::class)
public class ChannelProtocolException internal constructor(
    message: String,
) : RdmaException(message),
    CopyableThrowable<ChannelProtocolException> {
    /** The same for another call, caused by this one. */
    override fun createCopy(): ChannelProtocolException =
        ChannelProtocolException(checkNotNull(message)).also {
            it.initCause(this)
        }
}
