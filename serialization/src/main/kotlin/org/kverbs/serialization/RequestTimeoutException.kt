package org.kverbs.serialization

import org.kverbs.RdmaException
import kotlin.time.Duration

/**
 * A request was not answered in time. The peer's handler is cancelled, and the connection lives on.
 *
 * @property method the method that was called
 * @property timeout how long the caller waited
 */
public class RequestTimeoutException internal constructor(
    public val method: String,
    public val timeout: Duration,
) : RdmaException("\"$method\" was not answered within $timeout")
