package org.kverbs.coroutines.churn

import org.kverbs.Diagnostics
import org.kverbs.dsl.KiB
import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path
import javax.management.ObjectName

/**
 * The memory and resources that a process holds.
 *
 * @param heap bytes of objects that are reachable
 * @param arenas bytes of native memory in arenas, which includes queue pairs, queues and messages. The JVM counts them
 *   if it was started with `-XX:NativeMemoryTracking=summary`
 * @param resident bytes of resident memory, VmRSS of proc(5)
 * @param open number of resources that were not closed
 */
data class Holdings(
    val heap: Long,
    val arenas: Long,
    val resident: Long,
    val open: Int,
) {
    /** Returns the growth since [before]. */
    operator fun minus(before: Holdings): Holdings =
        Holdings(heap - before.heap, arenas - before.arenas, resident - before.resident, open - before.open)

    override fun toString(): String =
        "${heap / 1.KiB} KiB of heap, ${arenas / 1.KiB} KiB of arenas, ${resident / 1.KiB} KiB resident, $open " +
            "resources open"

    companion object {
        private const val COLLECTIONS = 5
        private const val PAUSE_MILLIS = 100L
        private val TEXT = Regex("(\\d+) KiB of heap, (\\d+) KiB of arenas, (\\d+) KiB resident, (\\d+) resources open")

        /** Returns the holdings of this process. */
        fun now(): Holdings {
            repeat(COLLECTIONS) {
                System.gc()
                Thread.sleep(PAUSE_MILLIS) // the cleaner frees a queue pair's memory on a thread of its own
            }
            val line = Files.readAllLines(Path.of("/proc/self/status")).single { it.startsWith("VmRSS:") }
            return Holdings(
                ManagementFactory.getMemoryMXBean().heapMemoryUsage.used,
                arenas(),
                line.filter(Char::isDigit).toLong() * 1.KiB,
                Diagnostics.openResources().size,
            )
        }

        /** Parses the holdings in a line that a process printed; null for any other line. */
        fun parse(line: String): Holdings? =
            TEXT.matchEntire(line)?.destructured?.let { (heap, arenas, resident, open) ->
                Holdings(heap.toLong() * 1.KiB, arenas.toLong() * 1.KiB, resident.toLong() * 1.KiB, open.toInt())
            }

        /** "Other" of the JVM is the memory that Unsafe allocates, which includes every arena. */
        private fun arenas(): Long {
            val answer =
                ManagementFactory.getPlatformMBeanServer().invoke(
                    ObjectName("com.sun.management:type=DiagnosticCommand"),
                    "vmNativeMemory",
                    arrayOf(arrayOf("summary", "scale=KB")),
                    arrayOf(Array<String>::class.java.name),
                )
            val kib =
                Regex("Other \\(reserved=(\\d+)KB").find("$answer")
                    ?: error("the JVM does not count its native memory: $answer")
            return kib.groupValues[1].toLong() * 1.KiB
        }
    }
}
