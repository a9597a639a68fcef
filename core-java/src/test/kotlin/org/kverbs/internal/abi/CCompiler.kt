package org.kverbs.internal.abi

import io.kotest.core.test.Enabled
import java.nio.file.Path
import kotlin.io.path.writeText

/** The C compiler of this machine, which gives the values in the headers. */
internal object CCompiler {
    /** A sentence that names the packages to install, or null if the compiler and the headers exist. */
    private fun missing(headers: List<String>): String? =
        when {
            runCatching { runProgram("gcc", "--version") }.isFailure -> {
                "gcc is missing: run 'apt-get install gcc', or ./verify, which does."
            }

            runCatching { inTemporaryFolder { compile(it, includes(headers), "-E") } }.isFailure -> {
                "<${headers.joinToString(
                    ">, <",
                )}> do not compile: run 'apt-get install libibverbs-dev librdmacm-dev libibumad-dev libc6-dev', or " +
                    "./verify, which does."
            }

            else -> {
                null
            }
        }

    /**
     * A machine without a compiler skips the test, and says so. Under KVERBS_REQUIRE_TOOLS=1, as in ./verify, the test
     * runs and [require] fails it. An exception here would not fail the test, since Kotest takes it for a skip.
     */
    fun presentOrSkipped(headers: List<String>): Enabled {
        val missing = missing(headers)
        return if (missing == null || System.getenv("KVERBS_REQUIRE_TOOLS") == "1") {
            Enabled.enabled
        } else {
            skipped(missing)
        }
    }

    /** Fails with the sentence that says what to install. */
    fun require(headers: List<String>) {
        missing(headers)?.let { error(it) }
    }

    /** The values of C expressions, by one program that prints them all. */
    fun evaluate(
        headers: List<String>,
        expressions: List<String>,
    ): List<Long> =
        inTemporaryFolder { folder ->
            val prints = expressions.joinToString("\n") { "    printf(\"%lld\\n\", (long long)($it));" }
            val start = "#include <stdio.h>\n#include <stddef.h>\n" + includes(headers)
            val program = folder.resolve("program")
            compile(folder, "$start\nint main(void) {\n$prints\n    return 0;\n}\n", "-o", program.toString())
            runProgram(program.toString()).lines().filter { it.isNotEmpty() }.map { it.toLong() }
        }

    private fun compile(
        folder: Path,
        source: String,
        vararg options: String,
    ) {
        val file = folder.resolve("source.c")
        file.writeText(source)
        runProgram("gcc", file.toString(), *options)
    }

    private fun includes(headers: List<String>) = headers.joinToString("") { "#include <$it>\n" }
}
