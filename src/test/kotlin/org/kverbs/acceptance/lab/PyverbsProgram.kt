package org.kverbs.acceptance.lab

import java.nio.file.Path
import kotlin.io.path.div

/**
 * A running `pyverbs/peer.py`, which is driven by lines: a command and its arguments, and the words of the answer.
 * Without Pyverbs the first command fails; the program has said why on standard error.
 *
 * @param part the part that the program plays: the name of one of the files beside it
 */
internal class PyverbsProgram(
    part: String,
    vararg arguments: Any,
) : AutoCloseable {
    private val process =
        ProcessBuilder(listOf("/usr/bin/python3", "-B", "${pyverbsScript("peer.py")}", part) + arguments.map { "$it" })
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start()
    private val input = process.outputWriter()
    private val output = process.inputReader()

    val isAlive: Boolean get() = process.isAlive

    /** Carries out a command, and returns the words of its result. */
    fun call(
        command: String,
        vararg arguments: Any,
    ): List<String> {
        val line = (listOf(command) + arguments).joinToString(" ")
        input.write("$line\n")
        input.flush()
        val answer = output.readLine() ?: error("the program of Pyverbs ended at '$command'")
        check(answer == "ok" || answer.startsWith("ok ")) { "Pyverbs, at '${line.take(200)}': $answer" }
        return answer.split(' ').drop(1)
    }

    override fun close() {
        process.destroy()
        process.waitFor()
    }
}

/** Returns the path of one of the programs of Pyverbs. */
internal fun pyverbsScript(name: String): Path =
    Path.of(System.getProperty("kverbs.root")) / "src/test/resources/pyverbs/$name"
