package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.matchers.ints.shouldBeLessThanOrEqual
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.io.File
import java.nio.file.Path

private const val ESCAPE = "\u001b"
private val codes = Regex("$ESCAPE\\[[0-9;?]*[A-Za-z]")

private fun hasScript(): Enabled {
    val isThere = System.getenv("PATH").split(File.pathSeparatorChar).any { File(it, "script").canExecute() }
    return if (isThere) Enabled.enabled else Enabled.disabled("script is missing: run 'apt-get install bsdutils'")
}

/** ibtool as a program of its own, on a terminal that `script` makes, and behind a pipe. */
class TerminalSpec :
    FunSpec({
        val java = Path.of(System.getProperty("java.home"), "bin", "java")

        fun command(vararg words: String) =
            listOf("$java", "--enable-native-access=ALL-UNNAMED", "-XX:TieredStopAtLevel=1", "-cp") +
                listOf(System.getProperty("java.class.path"), "org.kverbs.ibtool.IbToolKt") + words

        fun output(command: List<String>): String {
            val builder = ProcessBuilder(command).redirectErrorStream(true)
            builder.environment() += mapOf("TERM" to "xterm-256color")
            builder.environment() -= setOf("NO_COLOR", "COLUMNS", "CI")
            val process = builder.start()
            process.outputWriter().close()
            val text = process.inputReader().readText()
            withClue(text) { process.waitFor() shouldBe 0 }
            return text
        }

        fun onTerminal(vararg words: String): String {
            val line = command(*words).joinToString(" ") { "'$it'" }
            return output(listOf("script", "-qec", "stty cols 62; $line", "/dev/null")).replace("\r", "")
        }

        test("should color its help on a terminal, and wrap it to the terminal's width")
            .config(enabledOrReasonIf = { hasScript() }) {
                val help = onTerminal("smpquery", "--help")
                help shouldContain ESCAPE
                val lines = help.replace(codes, "").lines()
                withClue(help) {
                    lines.dropLastWhile { "ibtool smpquery" in it }.maxOf { it.length } shouldBeLessThanOrEqual
                        62
                }
            }

        test("should print the same results on a terminal as behind a pipe, where nothing of a terminal is") {
            val plain = output(command("ibhosts", "--fabric", "hosts:6"))
            plain shouldNotContain ESCAPE
            output(command("smpquery", "--help")) shouldNotContain ESCAPE
            if (hasScript().isEnabled) onTerminal("ibhosts", "--fabric", "hosts:6") shouldBe plain
        }
    })
