package org.kverbs.coroutines

import kotlinx.coroutines.CopyableThrowable
import kotlinx.coroutines.ExperimentalCoroutinesApi
import org.kverbs.RdmaException

/**
 * A [MessageChannel] was used after its end: [MessageChannel.finish] or [MessageChannel.close] of this side, or the
 * peer's.
 */
@OptIn(ExperimentalCoroutinesApi::class)
public class ChannelClosedException internal constructor(
    message: String,
) : RdmaException(message),
    CopyableThrowable<ChannelClosedException> {
    /** The same for another call, caused by this one. */
    override fun createCopy(): ChannelClosedException =
        ChannelClosedException(checkNotNull(message)).also {
            it.initCause(this)
        }
}
