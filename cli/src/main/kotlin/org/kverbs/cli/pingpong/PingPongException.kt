package org.kverbs.cli.pingpong

import org.kverbs.RdmaException

/**
 * A ping-pong that came to no good end because of the peer: it can't be reached, is silent, or sends what it shouldn't.
 */
class PingPongException : RdmaException {
    constructor(message: String) : super(message)

    constructor(message: String, cause: Throwable) : super(message, cause)
}
