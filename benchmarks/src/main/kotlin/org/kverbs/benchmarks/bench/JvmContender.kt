package org.kverbs.benchmarks.bench

import java.nio.file.Path
import java.time.Duration

/**
 * A contender in a JVM of its own for each measurement, with both ends in it.
 *
 * @property environment the variables that its process gets, over those of this one
 * @property missing returns why it can't run here, or null
 * @property options further options of its JVM
 * @property open connects both ends
 */
internal class JvmContender(
    override val name: String,
    override val title: String,
    private val environment: Map<String, String> = emptyMap(),
    private val missing: () -> String? = { null },
    private val options: List<String> = emptyList(),
    val open: () -> Exchange,
) : Contender {
    override fun obstacle() = missing()

    override fun measure(time: Duration): Map<Case, Double> {
        val java = Path.of(System.getProperty("java.home"), "bin", "java").toString()
        val main = "org.kverbs.benchmarks.bench.TrialKt"
        val command =
            listOf(java) + OPTIONS + options + guestOptions() +
                listOf("-cp", System.getProperty("java.class.path"), main, name) +
                "${time.toMillis()}"
        val said = ChildProcess(command, environment).output(time.multipliedBy(PATIENCE).plus(START))
        return parse(said)
    }

    private fun parse(said: String): Map<Case, Double> {
        val figures = said.lines().filter { ' ' in it }.associate { it.substringBefore(' ') to it.substringAfter(' ') }
        return Case.entries.associateWith {
            figures["$it"]?.toDoubleOrNull() ?: throw BenchException("$name printed no figure for $it: $said")
        }
    }

    private companion object {
        val OPTIONS = listOf("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow")

        /** Twice the time of each case, and much more on a busy machine. */
        const val PATIENCE = 40L
        val START: Duration = Duration.ofSeconds(60)

        /** What the lab's launcher gives to JVMs, as KVERBS_JAVA_OPTIONS. */
        fun guestOptions() = System.getenv("KVERBS_JAVA_OPTIONS").orEmpty().split(' ').filter { it.isNotEmpty() }
    }
}
