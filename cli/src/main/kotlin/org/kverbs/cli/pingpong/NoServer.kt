package org.kverbs.cli.pingpong

import java.io.IOException
import java.net.ConnectException

/**
 * Why no address of a server took a TCP connection, and what the user can do.
 *
 * @param failures those of all addresses of its name
 * @param start what to do at a machine that is there
 */
internal class NoServer(
    failures: List<IOException>,
    start: String,
) {
    /** A machine that refuses is there. That says more than another address, which can't be reached from here. */
    private val refusal = failures.find { it is ConnectException && "refused" in it.message.orEmpty() }

    /** The failure that says most. */
    val cause: IOException = refusal ?: failures.last()

    /** The reason and the advice. */
    val text: String =
        "${cause.message}; " + if (refusal != null) start else "check the address, and the network to it"
}
