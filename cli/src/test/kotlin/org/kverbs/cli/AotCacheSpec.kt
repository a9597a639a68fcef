package org.kverbs.cli

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.engine.spec.tempfile
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import java.io.File
import kotlin.random.Random

class AotCacheSpec :
    FunSpec({
        for (words in TRAINING) {
            test("should do ${words.joinToString(" ")}, which the launchers make the AOT cache by") {
                val outcome = Outcome(*words.toTypedArray())
                withClue(outcome) { outcome.status shouldBe 0 }
            }
        }

        test("should have the class that the launchers make the cache by") {
            aotScript() shouldContain "aot_run=(org.kverbs.cli.TrainingKt)"
            Class.forName("org.kverbs.cli.TrainingKt").getMethod("main").name shouldBe "main"
        }

        val quiet = Regex("aot_quiet='(.*)'").find(aotScript())!!.groupValues[1]
        listOf("no file" to 0, "an empty file" to 0, "random bytes" to 9000).forEach { (what, bytes) ->
            test("should start without a word of a cache that is $what") {
                val file = tempdir().resolve("kverbs.aot")
                if (what != "no file") file.writeBytes(Random.nextBytes(bytes))
                java(quiet, "-XX:AOTCache=$file", "-version").out shouldBe java("-version").out
            }
        }

        test("should start without a word of a cache that is cut") {
            val file = tempfile(suffix = ".aot")
            val jar = Json::class.java.protectionDomain.codeSource.location.path
            java("-XX:AOTCacheOutput=$file", "-cp", jar, "-version").status shouldBe 0
            val whole = file.readBytes()
            java("-XX:AOTMode=on", "-XX:AOTCache=$file", "-cp", jar, "-version").status shouldBe 0
            for (part in listOf(whole.size / 2, 5000)) {
                file.writeBytes(whole.copyOf(part))
                java("-XX:AOTMode=on", "-XX:AOTCache=$file", "-cp", jar, "-version").status shouldBe 1
                java(quiet, "-XX:AOTCache=$file", "-cp", jar, "-version").out shouldBe java("-version").out
            }
        }
    })

private fun aotScript() = File(System.getProperty("kverbs.root"), "cli/src/archive/aot.sh").readText()

private class JvmOutcome(
    val status: Int,
    val out: String,
)

/** Runs a JVM of the kind that runs this. */
private fun java(vararg words: String): JvmOutcome {
    val java = File(System.getProperty("java.home"), "bin/java").path
    val process = ProcessBuilder(listOf(java) + words).redirectErrorStream(true).start()
    // A cache that can't be read costs the JDK's own archive of classes as well, and that alone is told by its version.
    val out = process.inputReader().readText().replace(", sharing", "")
    return JvmOutcome(process.waitFor(), out)
}
