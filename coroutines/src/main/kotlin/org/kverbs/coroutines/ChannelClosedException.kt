package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaException

/**
 * Thrown when a [MessageChannel] is used after its end: after [MessageChannel.finish] or [MessageChannel.close] of this
 * side or of the peer.
 */
@OptIn(ExperimentalCoroutinesApi::class)
public class ChannelClosedException internal constructor(
    message: String,
) : RdmaException(message),
    CopyableThrowable<ChannelClosedException> {
    /** Copies the exception for another call; this exception is the cause of the copy. */
    override fun createCopy(): ChannelClosedException =
        ChannelClosedException(checkNotNull(message)).also {
            it.initCause(this)
        }
}
