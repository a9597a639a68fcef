package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * Thrown if the peer broke the request protocol, or does not use it. The exception's message names the fault. The
 * connection was closed.
 */
public class RequestProtocolException internal constructor(
    message: String,
    cause: Throwable? = null,
) : RdmaException(message) {
    init {
        if (cause != null) initCause(cause)
    }
}
