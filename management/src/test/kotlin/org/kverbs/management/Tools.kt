package org.kverbs.management

import io.kotest.core.test.Enabled
import java.nio.file.Path
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.concurrent.thread

/** A program of the machine that a spec compares with. */
internal class Tool(
    private val name: String,
    private val advice: String,
    private val isThere: () -> Boolean,
) {
    private val missing: String? by lazy {
        if (runCatching(isThere).getOrDefault(false)) null else "$name is missing: $advice"
    }

    /**
     * A machine without the tool skips the test, and says so. Under KVERBS_REQUIRE_TOOLS=1, as in ./verify, the test
     * runs
     * and [require] fails it.
     */
    val presentOrSkipped: Enabled
        get() {
            val said = missing
            val isRequired = System.getenv("KVERBS_REQUIRE_TOOLS") == "1"
            return if (said == null || isRequired) Enabled.enabled else Enabled.disabled(said)
        }

    /** Fails with the sentence that says what to install. */
    fun require() {
        missing?.let { error(it) }
    }
}

/** Runs a program, gives it [input], and returns what it prints; a status but 0 is a failure with its errors. */
internal fun run(
    command: List<String>,
    input: String = "",
): String {
    val process = ProcessBuilder(command).start()
    var errors = ""
    val reader = thread { errors = process.errorReader().readText() }
    val writer =
        thread {
            runCatching { process.outputWriter().use { it.write(input) } }
        }
    val output = process.inputStream.readBytes().toString(Charsets.ISO_8859_1)
    check(process.waitFor(120, SECONDS)) { "${command.first()} does not end" }
    reader.join()
    writer.join()
    check(process.exitValue() == 0) { "${command.first()} ended with ${process.exitValue()}: $errors" }
    return output
}

/** The C compiler with libibmad's headers. */
internal val libIbMad =
    Tool("libibmad", "run 'apt-get install gcc libibmad-dev', or ./verify, which does.") {
        run(listOf("gcc", "-E", "-x", "c", "-"), "#include <infiniband/mad.h>\n").isNotEmpty()
    }

/** Wireshark's program for the command line. */
internal val tshark =
    Tool("tshark", "run 'apt-get install tshark', or ./verify, which does.") {
        run(listOf("tshark", "--version")).isNotEmpty()
    }

/** Compiles a C program. */
internal fun compile(
    source: String,
    program: Path,
    vararg options: String,
) {
    run(listOf("gcc", "-Wall", "-Werror", "-x", "c", "-", "-o", "$program") + options, source)
}
