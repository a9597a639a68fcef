package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath
import kotlin.time.Duration

/**
 * Nobody answered a request, nor its repetitions.
 *
 * @property attempts how many times the request was sent
 * @property timeout how long each attempt waited at most
 */
public class MadTimeoutException internal constructor(
    request: ByteArray,
    path: MadPath,
    public val attempts: Int,
    public val timeout: Duration,
) : MadException(
        "no answer from $path to ${MadText.of(request)}, sent ${times(attempts)} with $timeout each: " +
            "see that the path leads to a port that is up, or give more time or retries",
        request,
        null,
        path,
        "RPC ${MadText.of(request)} timed out",
    )

/** `once`, or `4 times`. */
internal fun times(attempts: Int): String = if (attempts == 1) "once" else "$attempts times"
