package org.kverbs.samples.pingpong

import org.kverbs.RdmaException

/** A ping-pong that came to no good end because of the peer: it can't be reached, is silent, or sends what it shouldn't. */
class PingPongException(
    message: String,
    cause: Throwable? = null,
) : RdmaException(message, cause)
