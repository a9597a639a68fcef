package org.kverbs.management.transport

import org.kverbs.RdmaException

/** A [MadTransport] cannot reach its fabric at all. A datagram that is merely lost is no exception. */
public class MadTransportException : RdmaException {
    /** Makes an exception whose message says what failed and what to do. */
    public constructor(message: String) : super(message)

    /** Makes an exception with a cause. */
    public constructor(message: String, cause: Throwable) : super(message, cause)
}
