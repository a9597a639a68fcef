package org.kverbs.benchmarks.bench

import java.io.File
import java.lang.management.ManagementFactory
import java.time.LocalDate

/**
 * The machine of a measurement.
 *
 * @property processors the number of its processors
 * @property model what the kernel calls a processor
 * @property kernel the kernel's name and version
 * @property java the version of the JDK
 * @property load the average number of processes that ran or waited to run in the last minute
 * @property day when it was
 */
internal data class Machine(
    val processors: Int,
    val model: String,
    val kernel: String,
    val java: String,
    val load: Double,
    val day: LocalDate,
) {
    companion object {
        /** This machine, now. */
        fun now() =
            Machine(
                Runtime.getRuntime().availableProcessors(),
                model(),
                System.getProperty("os.name") + " " + release(),
                System.getProperty("java.version"),
                ManagementFactory.getOperatingSystemMXBean().systemLoadAverage,
                LocalDate.now(),
            )

        /** The kernel's first two numbers: what follows them is the distribution's. */
        private fun release() = System.getProperty("os.version").split('.').take(2).joinToString(".")

        private fun model() =
            File("/proc/cpuinfo")
                .takeIf { it.canRead() }
                ?.readLines()
                ?.firstOrNull { it.startsWith("model name") }
                ?.substringAfter(": ")
                ?: System.getProperty("os.arch")
    }
}
