package org.kverbs.coroutines.churn

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.longs.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import java.io.File
import java.nio.file.Path

private const val PROGRAM = "org.kverbs.coroutines.churn.ConnectionChurnProgram"

/**
 * A heap of fixed size that is resident from the start, and only the C1 compiler, so that other memory shows its
 * growth.
 */
private val OPTIONS =
    listOf(
        "-Xms96m",
        "-Xmx96m",
        "-XX:+AlwaysPreTouch",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:NativeMemoryTracking=summary",
    ) +
        "-Dkverbs.diagnostics=true"

/**
 * Connects and disconnects in a process of its own: 6,000 times, or as often as the system property churn.connections
 * says. `coroutines/churn` does it 100,000 times.
 */
class ConnectionChurnSpec :
    FunSpec({
        timeout = 14_400_000 // Kotest's ten minutes are too short for the long run on a slow machine
        invocationTimeout = timeout
        val connections = System.getProperty("churn.connections", "6000").toInt()

        test("should not accumulate resources over $connections connections") {
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
                    val held = text.lines().mapNotNull(Holdings::parse) shouldHaveSize 3
                    println(
                        held.withIndex().joinToString(
                            "; ",
                            "churn: ",
                        ) { (n, it) -> "after ${connections / 3 * (n + 1)} connections $it" },
                    )
                    check(held)
                }
            } finally {
                output.delete()
            }
        }
    })

/** A leak grows in every third. The JVM itself grows now and then, and its allocator keeps freed memory. */
private fun check(held: List<Holdings>) {
    val grown = held.zipWithNext { before, after -> after - before }
    grown.forEach { it.open shouldBe 0 }
    grown.minOf { it.heap } shouldBeLessThan 1.MiB
    grown.minOf { it.arenas } shouldBeLessThan 256.KiB
    grown.minOf { it.resident } shouldBeLessThan 8.MiB
    val all = held.last() - held.first()
    all.heap shouldBeLessThan 4.MiB
    all.resident shouldBeLessThan 24.MiB
}
