package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.shouldBe
import java.io.File

private fun isInstalled(program: String) =
    System.getenv("PATH").split(File.pathSeparatorChar).any { File(it, program).canExecute() }

/** Debian has bash always, the other two where somebody has installed them; ./verify does, and demands them. */
private fun mustRead(shell: String) =
    shell == "bash" || isInstalled(shell) || System.getenv("KVERBS_REQUIRE_TOOLS") == "1"

/** `ibtool completion`, whose scripts the shells themselves read. */
internal class CompletionSpec :
    FunSpec({
        val folder = tempdir()

        fun script(shell: String) =
            File(folder, "ibtool.$shell").apply { writeText("${Outcome("completion", shell).out}") }

        fun run(vararg command: String): Pair<Int, String> {
            val process = ProcessBuilder(*command).redirectErrorStream(true).start()
            val output = process.inputReader().readText()
            return process.waitFor() to output
        }

        for (shell in listOf("bash", "zsh", "fish")) {
            test("should print a completion that $shell reads without a complaint")
                .config(enabled = mustRead(shell)) {
                    val (status, output) = run(shell, "-n", script(shell).path)
                    withClue(output) {
                        status shouldBe 0
                        output shouldBe ""
                    }
                }
        }

        /** What bash offers behind these words, as its Tab key does. */
        fun offered(vararg words: String): List<String> {
            val line = (listOf("ibtool") + words).joinToString(" ") { "'$it'" }
            val asked = "COMP_WORDS=($line); COMP_CWORD=${words.size}; _ibtool; printf '%s\\n' \"\${COMPREPLY[@]}\""
            val (status, output) = run("bash", "-c", ". ${script("bash")}; $asked")
            withClue(output) { status shouldBe 0 }
            return output.lines()
        }

        test("should complete a command and an option in bash") {
            offered("ibnetd") shouldContain "ibnetdiscover"
            offered("smpquery", "--fab") shouldContain "--fabric"
            offered("dump_fts", "--node-name") shouldContain "--node-name-map"
        }
    })
