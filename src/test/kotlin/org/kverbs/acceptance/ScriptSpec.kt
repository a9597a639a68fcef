package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
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
    })

private fun kverbs(vararg arguments: String): Outcome {
    val process =
        ProcessBuilder("./kverbs", *arguments)
            .directory(File(System.getProperty("kverbs.root")))
            .redirectErrorStream(true)
            .start()
    val output = process.inputReader().readText()
    check(process.waitFor(1, MINUTES)) { "kverbs ${arguments.asList()} did not end" }
    return Outcome(process.exitValue(), output)
}
