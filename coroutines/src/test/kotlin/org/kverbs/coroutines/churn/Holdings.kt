package org.kverbs.coroutines.churn

import org.kverbs.Diagnostics
import org.kverbs.dsl.KiB
import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path

/**
 * What a process holds.
 *
 * @param heap bytes of objects that are reachable
 * @param resident bytes of its memory, by VmRSS of proc(5)
 * @param open resources that were not closed
 */
data class Holdings(
    val heap: Long,
    val resident: Long,
    val open: Int,
) {
    override fun toString(): String = "${heap / 1.KiB} KiB of heap, ${resident / 1.KiB} KiB resident, $open resources open"

    companion object {
        private val TEXT = Regex("(\\d+) KiB of heap, (\\d+) KiB resident, (\\d+) resources open")

        /** Those of this process. */
        fun now(): Holdings {
            repeat(3) { System.gc() }
            val line = Files.readAllLines(Path.of("/proc/self/status")).single { it.startsWith("VmRSS:") }
            return Holdings(
                ManagementFactory.getMemoryMXBean().heapMemoryUsage.used,
                line.filter(Char::isDigit).toLong() * 1.KiB,
                Diagnostics.openResources().size,
            )
        }

        /** Those that a process printed; null if the line is another. */
        fun parse(line: String): Holdings? =
            TEXT.matchEntire(line)?.destructured?.let { (heap, resident, open) ->
                Holdings(heap.toLong() * 1.KiB, resident.toLong() * 1.KiB, open.toInt())
            }
    }
}
