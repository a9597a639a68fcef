package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath
import kotlin.time.Duration

/**
 * Nobody answered a request, nor its repetitions.
 *
 * @property attempts how many times the request was sent
 * @property timeout how long each attempt waited at most
 * @property strays how many datagrams came under the request's number that are no answer to it: damaged ones, and
 *   those of another attribute, class or port
 */
public class MadTimeoutException internal constructor(
    request: ByteArray,
    path: MadPath,
    public val attempts: Int,
    public val timeout: Duration,
    public val strays: Int,
) : MadException(
        "no answer from $path to ${MadText.of(request)}, sent ${times(attempts)} with $timeout each: " +
            if (strays == 0) {
                "see that the path leads to a port that is up, or give more time or retries"
            } else {
                "$strays datagrams came that are no answer to it; a listener of the fabric shows them"
            },
        request,
        null,
        path,
        "RPC ${MadText.of(request)} timed out",
    )

/** `once`, or `4 times`. */
internal fun times(attempts: Int): String = if (attempts == 1) "once" else "$attempts times"
