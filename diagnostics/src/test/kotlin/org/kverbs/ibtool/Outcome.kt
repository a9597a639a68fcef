package org.kverbs.ibtool

import org.kverbs.ibtool.session.Surroundings
import org.kverbs.management.transport.MadTransport

/** The output and the exit status of one command line, run in this process. */
internal class Outcome(
    vararg arguments: String,
    between: (MadTransport) -> MadTransport = { it },
) {
    val out = StringBuilder()
    val err = StringBuilder()
    val status: Int = ibtool(arguments.asList(), out, err, Surroundings(between = between))

    override fun toString() = "exit status $status\n$out$err"
}
