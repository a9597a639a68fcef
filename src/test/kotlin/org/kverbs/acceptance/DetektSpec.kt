package org.kverbs.acceptance

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import java.io.File

/** How detekt begins and ends a colour on a terminal. */
private val COLOUR = Regex("\u001b\\[[0-9;]*m")

/**
 * Reads the product's Kotlin code with detekt, which knows the types (`detekt.yml` says which rules are off, and why).
 * The product's Java code is read by Error Prone and NullAway while it is compiled.
 */
class DetektSpec :
    FunSpec({
        val root = File(System.getProperty("kverbs.root"))

        test("should find nothing in the Kotlin code of the modules but the fault that this spec adds") {
            val sources = sources(root)
            sources.map { it.relativeTo(root).path } shouldContain "coroutines/src/main/kotlin"
            // Only the types show it. A run that finds it has read the code as it should.
            val planted = tempdir().resolve("Planted.kt")
            planted.writeText("fun planted(text: String?): Int = text.let { it }!!.length\n")

            val output = detekt(root, sources + planted)

            withClue(output) {
                // With an incomplete class path detekt finds less, and only says how many errors its compiler had.
                output shouldNotContain "compiler error"
                // It writes the paths of some folders relative to others.
                val path = "${planted.parentFile.name}/${planted.name}"
                output.lines().filter { it.startsWith("e: ") }.single() shouldContain path
                output shouldContain "UnsafeCallOnNullableType"
            }
        }
    })

/** The Kotlin code that users get, and the samples. The benchmarks use classes that are not on this class path. */
private fun sources(root: File): List<File> {
    val modules = root.resolve("pom.xml").readText().let { Regex("<module>(.*)</module>").findAll(it) }
    return modules
        .map { it.groupValues[1] }
        .filter { it != "benchmarks" }
        .map { root.resolve("$it/src/main/kotlin") }
        .filter { it.isDirectory }
        .toList()
}

private fun detekt(
    root: File,
    sources: List<File>,
): String {
    // The command line compiles scripts with jars that no other program has on its class path.
    val scripting = root.resolve("cli/target/scripting").listFiles { file -> file.extension == "jar" }.orEmpty()
    val process =
        ProcessBuilder(
            "${System.getProperty("java.home")}/bin/java",
            "--sun-misc-unsafe-memory-access=allow",
            "-jar",
            "${root.resolve("src/test/target/detekt/detekt.jar")}",
            "--parallel",
            "--build-upon-default-config",
            "--config",
            "${root.resolve("detekt.yml")}",
            "--analysis-mode",
            "full",
            "--jvm-target",
            "25",
            "--jdk-home",
            System.getProperty("java.home"),
            "--classpath",
            (scripting.map { it.path } + System.getProperty("java.class.path")).joinToString(File.pathSeparator),
            "--input",
            sources.joinToString(File.pathSeparator),
        ).redirectErrorStream(true).start()
    val output = process.inputReader().use { it.readText() }
    process.waitFor()
    return output.replace(COLOUR, "")
}
