package org.kverbs.ibtool

/** The output and the exit status of one command line, run in this process. */
internal class Outcome(
    vararg arguments: String,
) {
    val out = StringBuilder()
    val err = StringBuilder()
    val status: Int = ibtool(arguments.asList(), out, err)

    override fun toString() = "exit status $status\n$out$err"
}
