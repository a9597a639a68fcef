package org.kverbs.cli.pingpong

import org.kverbs.RdmaException

/** The process of the server's end failed. */
class ServerProcessException internal constructor(
    /** Its exit status. */
    val status: Int,
    message: String,
) : RdmaException(message)
