package org.kverbs.coroutines.churn

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.dsl.MiB
import java.io.File
import java.nio.file.Path

private const val PROGRAM = "org.kverbs.coroutines.churn.ConnectionChurnProgram"

/** A heap of one size, all of it resident from the start, so that what grows is something else. */
private val OPTIONS = listOf("-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC", "-Dkverbs.diagnostics=true")

/**
 * Connects and disconnects in a process of its own: 6,000 times, or as often as the system property churn.connections says.
 * `coroutines/churn` does it 100,000 times.
 */
class ConnectionChurnSpec :
    FunSpec({
        timeout = 14_400_000 // Kotest's ten minutes are too short for the long run on a slow machine
        val connections = System.getProperty("churn.connections", "6000").toInt()

        test("should hold no more after $connections connections than after a third of them") {
            val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
            val command = listOf(java, "--enable-native-access=ALL-UNNAMED") + OPTIONS
            val program = listOf("-cp", System.getProperty("java.class.path"), PROGRAM, "$connections")
            val output = File.createTempFile("churn", ".txt")
            try {
                val process = ProcessBuilder(command + program).redirectErrorStream(true).redirectOutput(output).start()
                val status = process.waitFor()
                val text = output.readText()
                withClue(text) {
                    status shouldBe 0
                    val held = text.lines().mapNotNull(Holdings::parse) shouldHaveSize 2
                    println("churn: after ${connections / 3} connections ${held[0]}; after $connections ${held[1]}")
                    check(held[0], held[1])
                }
            } finally {
                output.delete()
            }
        }
    })

/** The JVM itself goes on learning, above all its compilers. For 100,000 connections the rest would be 63 and 377 bytes each. */
private fun check(
    before: Holdings,
    after: Holdings,
) {
    after.open shouldBe before.open
    after.heap - before.heap shouldBeLessThan 4.MiB
    after.resident - before.resident shouldBeLessThan 24.MiB
}
