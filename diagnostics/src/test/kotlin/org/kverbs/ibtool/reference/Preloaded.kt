package org.kverbs.ibtool.reference

import java.io.BufferedReader
import java.nio.file.Path
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.io.path.readText

/**
 * Programs that ask a simulator at the UDP port [port] through ibsim's library, each from the node [here].
 *
 * @param folder holds their files, and what they print to standard error
 */
internal class Preloaded(
    private val port: Int,
    private val here: String,
    private val folder: Path,
) : AutoCloseable {
    private val started = ArrayList<Process>()
    private val runner by lazy { runner() }
    private val answers: BufferedReader by lazy { runner.inputReader() }

    /**
     * Runs a program of infiniband-diags. One that crashes has printed nothing to compare with, so it runs again, up to
     * three times in all: `ibqueryerrors -c` of infiniband-diags 44 was seen to crash once, by a segmentation fault.
     */
    fun reference(vararg command: String): Answer {
        var answer = run(command.asList())
        repeat(2) {
            if (answer.status <= SIGNALS) return answer
            println("${command.joinToString(" ")} ended by signal ${answer.status - SIGNALS}, and runs again")
            answer = run(command.asList())
        }
        return answer
    }

    private fun run(command: List<String>): Answer {
        val program = start(command)
        val text = program.inputStream.readBytes().toString(Charsets.ISO_8859_1)
        check(program.waitFor(60, SECONDS)) { "${command.first()} does not end" }
        return Answer(program.exitValue(), text)
    }

    /** Runs the same command of ibtool. */
    fun ibtool(vararg command: String): Answer {
        ask(runner, command)
        val (status, length) =
            checkNotNull(answers.readLine()) { "the runner ended: ${errors()}" }.split(' ').map { it.toInt() }
        val text = CharArray(length)
        var at = 0
        while (at < length) at += answers.read(text, at, length - at).also { check(it > 0) }
        return Answer(status, text.concatToString())
    }

    private fun ask(
        runner: Process,
        command: Array<out String>,
    ) {
        runner.outputWriter().apply {
            write(command.joinToString("\t") + "\n")
            flush()
        }
    }

    private fun runner(): Process {
        val java = Path.of(System.getProperty("java.home"), "bin", "java")
        val options = listOf("$java", "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-cp")
        return keep(start(options + listOf(System.getProperty("java.class.path"), Runner::class.java.name)))
    }

    private fun keep(process: Process): Process = process.also { started += it }

    /** What the programs have printed to standard error so far. */
    fun errors(): String = folder.resolve("errors").readText()

    /** Starts a program, which the caller ends. */
    fun start(command: List<String>): Process {
        val builder = ProcessBuilder(command).directory(folder.toFile())
        builder.environment() +=
            mapOf(
                "LD_PRELOAD" to Ibsim.preload,
                "IBSIM_SERVER_NAME" to "127.0.0.1",
                "IBSIM_SERVER_PORT" to "$port",
                "SIM_HOST" to here,
                "OSM_TMP_DIR" to "$folder",
                "OSM_CACHE_DIR" to "$folder",
            )
        return builder.redirectError(ProcessBuilder.Redirect.appendTo(folder.resolve("errors").toFile())).start()
    }

    override fun close() {
        for (process in started.asReversed()) {
            process.outputWriter().close()
            process.destroy()
            check(process.waitFor(10, SECONDS)) { "$process does not end" }
        }
    }

    private companion object {
        /** The exit status of a program that a signal ended is the signal's number above this one. */
        const val SIGNALS = 128
    }
}
