package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * The peer broke the protocol of requests, or does not speak it. The message says what came. The connection was closed.
 */
public class RequestProtocolException internal constructor(
    message: String,
    cause: Throwable? = null,
) : RdmaException(message) {
    init {
        if (cause != null) initCause(cause)
    }
}
