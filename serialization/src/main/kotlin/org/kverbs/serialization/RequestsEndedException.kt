package org.kverbs.serialization

import org.kverbs.RdmaException

/**
 * Thrown if a request gets no answer because the connection failed, which is the cause, or because the peer has
 * finished.
 */
public class RequestsEndedException internal constructor(
    method: String,
    cause: Throwable?,
) : RdmaException("\"$method\" was not answered: ${cause?.message ?: "the peer has finished"}") {
    init {
        if (cause != null) initCause(cause)
    }
}
