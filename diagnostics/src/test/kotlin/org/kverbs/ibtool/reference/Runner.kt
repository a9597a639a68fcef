package org.kverbs.ibtool.reference

import org.kverbs.ibtool.ibtool

/**
 * Runs command lines of ibtool, one a line of standard input, in a process in which ibsim's library stands in for the
 * kernel. The words of a line are separated by tabs. It answers with the exit status, the length of the output and the
 * output.
 */
internal object Runner {
    @JvmStatic
    fun main(arguments: Array<String>) {
        for (line in System.`in`.bufferedReader().lineSequence()) {
            val out = StringBuilder()
            val err = StringBuilder()
            val status =
                runCatching {
                    ibtool(line.split('\t'), out, err)
                }.getOrElse { err.append(it.stackTraceToString()).let { -1 } }
            System.err.println("$line: $err")
            System.err.flush()
            println("$status ${out.length}")
            kotlin.io.print(out)
            System.out.flush()
        }
    }
}
