package org.kverbs.coroutines.churn

import org.kverbs.Diagnostics
import org.kverbs.dsl.KiB
import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path
import javax.management.ObjectName

/**
 * What a process holds.
 *
 * @param heap bytes of objects that are reachable
 * @param arenas bytes of native memory that arenas hold, with what queue pairs, queues and messages are made of. The
 *     JVM counts them where it was started with `-XX:NativeMemoryTracking=summary`
 * @param resident bytes of its memory, by VmRSS of proc(5)
 * @param open resources that were not closed
 */
data class Holdings(
    val heap: Long,
    val arenas: Long,
    val resident: Long,
    val open: Int,
) {
    /** How much more this is than [before] was. */
    operator fun minus(before: Holdings): Holdings =
        Holdings(heap - before.heap, arenas - before.arenas, resident - before.resident, open - before.open)

    override fun toString(): String =
        "${heap / 1.KiB} KiB of heap, ${arenas / 1.KiB} KiB of arenas, ${resident / 1.KiB} KiB resident, $open " +
            "resources open"

    companion object {
        private const val COLLECTIONS = 5
        private const val PAUSE_MILLIS = 100L
        private val TEXT = Regex("(\\d+) KiB of heap, (\\d+) KiB of arenas, (\\d+) KiB resident, (\\d+) resources open")

        /** Those of this process. */
        fun now(): Holdings {
            repeat(COLLECTIONS) {
                System.gc()
                Thread.sleep(PAUSE_MILLIS) // the cleaner, which frees a queue pair's memory, has a thread of its own
            }
            val line = Files.readAllLines(Path.of("/proc/self/status")).single { it.startsWith("VmRSS:") }
            return Holdings(
                ManagementFactory.getMemoryMXBean().heapMemoryUsage.used,
                arenas(),
                line.filter(Char::isDigit).toLong() * 1.KiB,
                Diagnostics.openResources().size,
            )
        }

        /** Those that a process printed; null if the line is another. */
        fun parse(line: String): Holdings? =
            TEXT.matchEntire(line)?.destructured?.let { (heap, arenas, resident, open) ->
                Holdings(heap.toLong() * 1.KiB, arenas.toLong() * 1.KiB, resident.toLong() * 1.KiB, open.toInt())
            }

        /** What the JVM calls "Other" is what Unsafe allocates, and with that every arena. */
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
