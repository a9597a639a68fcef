package org.kverbs.coroutines

import org.kverbs.RdmaException

/** A [MessageChannel] was used after its end: [MessageChannel.finish] or [MessageChannel.close] of this side, or the peer's. */
public class ChannelClosedException internal constructor(
    message: String,
) : RdmaException(message)
