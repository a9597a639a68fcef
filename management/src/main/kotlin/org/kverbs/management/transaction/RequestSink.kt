package org.kverbs.management.transaction

import org.kverbs.management.path.MadPath

/** Takes the requests of other ports. The transport's thread calls it, so it must not wait. */
internal interface RequestSink {
    /** Whether somebody serves requests such as this one. */
    fun isServed(mad: ByteArray): Boolean

    /** Takes a request that is served. */
    fun take(
        mad: ByteArray,
        back: MadPath,
    )

    /** The transactor was closed. */
    fun close()
}
