package org.kverbs.coroutines

import org.kverbs.RdmaException

/** Thrown by [MessageChannel.remote] if the peer has not published memory under this name. */
public class NotPublishedException internal constructor(
    /** The name that the caller asked for. */
    public val name: String,
    /** The names that the peer has published. */
    public val published: Set<String>,
) : RdmaException(
        "the peer has published no memory named '$name'; " +
            (
                if (published.isEmpty()) {
                    "it has published nothing"
                } else {
                    "it has published " +
                        published.sorted().joinToString { "'$it'" }
                }
            ) +
            ". If the peer publishes it later, call awaitRemote(\"$name\")",
    )
