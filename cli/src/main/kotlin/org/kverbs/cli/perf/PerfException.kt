package org.kverbs.cli.perf

import org.kverbs.RdmaException

/** A measurement failed because of the peer: it cannot be reached, is silent, died, or has other options. */
class PerfException : RdmaException {
    constructor(message: String) : super(message)

    constructor(message: String, cause: Throwable) : super(message, cause)
}
