package org.kverbs.serialization

import org.kverbs.RdmaException
import kotlin.time.Duration

/**
 * Thrown if the peer has not answered a request in time, or a stream has not ended in time. The peer's handler is
 * cancelled, and the connection lives on.
 *
 * @property method the name of the called method
 * @property timeout the timeout of the call
 */
public class RequestTimeoutException private constructor(
    public val method: String,
    public val timeout: Duration,
    message: String,
) : RdmaException(message) {
    internal constructor(method: String, timeout: Duration) :
        this(method, timeout, "\"$method\" was not answered within $timeout")

    /** @param items number of items of the stream that had arrived */
    internal constructor(method: String, timeout: Duration, items: Int) :
        this(method, timeout, "the stream \"$method\" did not end within $timeout; $items items had come")
}
