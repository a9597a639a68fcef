package org.kverbs.coroutines

import org.kverbs.RdmaException

/** The peer of a [MessageChannel] broke its protocol, or is no such channel. The message says what came; the channel is of no use after it. */
public class ChannelProtocolException internal constructor(
    message: String,
) : RdmaException(message)
