package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.io.File
import java.util.concurrent.TimeUnit.MINUTES

/** `./kverbs script`, as a user runs it; cli's own ScriptSpec has the rest. */
class ScriptSpec :
    FunSpec({
        test("should run a script, and pass on what it says and its exit status") {
            val (status, output) = kverbs("script", "samples/scripts/ping.main.kts", "embedded1")
            withClue(output) {
                status shouldBe 0
                output shouldContain "embedded1: there and back again\n"
            }
            kverbs("script", "samples/scripts/none.main.kts").status shouldBe 2
        }

        test("should say on a terminal that it compiles, once, and nothing of it elsewhere") {
            val path = tempfile(suffix = ".main.kts").apply { writeText("println()") }.path
            val said = "kverbs: compiling $path, which takes several seconds"
            val onTerminal = listOf("script", "-qec", "./kverbs script $path", "/dev/null")
            run(onTerminal).output shouldContain said
            run(onTerminal).output shouldNotContain said
            File(path).appendText("println(1)")
            kverbs("script", path).output shouldNotContain said
        }

        test("should show where an error comes from with --debug in front") {
            val path = tempfile(suffix = ".main.kts").apply { writeText("error(\"deliberate\")") }.path
            kverbs("script", path).output shouldNotContain FRAME
            kverbs("--debug", "script", path).output shouldContain FRAME
        }
    })

/** A line of a stack trace. The JVM indents it by a tab, a terminal's writer by blanks. */
private val FRAME = Regex("(?m)^\\s+at ")

private fun kverbs(vararg arguments: String) = run(listOf("./kverbs") + arguments)

private fun run(command: List<String>): Outcome {
    val process =
        ProcessBuilder(command)
            .directory(File(System.getProperty("kverbs.root")))
            .redirectErrorStream(true)
            .apply { environment().putAll(SHORT_KVERBS) }
            .start()
    val output = process.inputReader().readText()
    check(process.waitFor(1, MINUTES)) { "$command did not end" }
    return Outcome(process.exitValue(), output)
}
