package org.kverbs.serialization

import org.kverbs.RdmaException

/** A request got no answer, because the connection failed or the peer has finished. The cause says which. */
public class RequestsEndedException internal constructor(
    method: String,
    cause: Throwable?,
) : RdmaException("\"$method\" was not answered: ${cause?.message ?: "the peer has finished"}") {
    init {
        if (cause != null) initCause(cause)
    }
}
