package org.kverbs.cli

import java.io.ByteArrayOutputStream
import java.io.PrintStream

/**
 * The output and the exit status of one command line, run in this process. Samples print by themselves, to standard
 * output.
 */
internal class Outcome(
    vararg arguments: String,
) {
    private val printed = ByteArrayOutputStream()
    private val complained = StringBuilder()
    val status: Int
    val out get() = printed.toString()
    val err get() = complained.toString()

    init {
        val console = System.out
        val stream = PrintStream(printed, true)
        System.setOut(stream)
        status =
            try {
                kverbs(arguments.asList(), stream, complained)
            } finally {
                System.setOut(console)
            }
    }

    override fun toString() = "exit status $status\n$out$err"
}
