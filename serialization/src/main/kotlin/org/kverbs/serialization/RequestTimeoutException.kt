package org.kverbs.serialization

import org.kverbs.RdmaException
import kotlin.time.Duration

/**
 * A request was not answered in time, or a stream did not end in time. The peer's handler is cancelled, and the
 * connection lives on.
 *
 * @property method the method that was called
 * @property timeout how long the caller waited
 */
public class RequestTimeoutException private constructor(
    public val method: String,
    public val timeout: Duration,
    message: String,
) : RdmaException(message) {
    internal constructor(method: String, timeout: Duration) :
        this(method, timeout, "\"$method\" was not answered within $timeout")

    /** @param items how many of a stream had come */
    internal constructor(method: String, timeout: Duration, items: Int) :
        this(method, timeout, "the stream \"$method\" did not end within $timeout; $items items had come")
}
