package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * Thrown if the peer broke the request protocol, or does not use it. The exception's message names the fault. The
 * connection was closed.
 */
public class RequestProtocolException internal constructor(
    fault: String,
    cause: Throwable? = null,
) : RdmaException("$fault. Use requests and answerRequests of the same version of kverbs at both ends.") {
    init {
        if (cause != null) initCause(cause)
    }
}
