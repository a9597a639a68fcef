package org.kverbs.coroutines

import org.kverbs.RdmaException

/** The peer of a [MessageChannel] has not published memory of this name; thrown by [MessageChannel.remote]. */
public class NotPublishedException internal constructor(
    /** The name that was asked for. */
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
            ". If it still will, await it: awaitRemote(\"$name\")",
    )
