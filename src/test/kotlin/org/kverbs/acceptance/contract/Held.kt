package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.delay
import org.kverbs.CompletionQueue
import org.kverbs.Diagnostics
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import java.lang.management.BufferPoolMXBean
import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.nio.file.Path
import kotlin.time.Duration.Companion.milliseconds

/**
 * What this process holds.
 *
 * @property resources that are open. Completion queues are left out: a dispatcher keeps those that it has made
 * @property kernels what the kernel counts of the device for all processes; empty for an embedded one
 * @property files open descriptors
 * @property arenas bytes of native memory
 * @property heap bytes of objects that are reachable
 */
internal data class Held(
    val resources: Int,
    val kernels: Map<String, Int>,
    val files: Int,
    val arenas: Long,
    val heap: Long,
) {
    /** Whether this is no more than [before]. Memory may be some pages more: caches of the JVM and of buffers fill. */
    fun isWithin(before: Held): Boolean =
        resources <= before.resources &&
            kernels.all { (what, count) -> count <= before.kernels.getOrDefault(what, 0) } &&
            files <= before.files &&
            arenas <= before.arenas + 256.KiB &&
            heap <= before.heap + 1.MiB

    companion object {
        private val COUNT = Regex("(\\w+) (\\d+)")
        private const val MOST_LOOKS = 100
        private val COUNTED = setOf("pd", "qp", "mr", "cm_id")

        /** What is given back may take a moment. */
        suspend fun shouldComeTo(
            before: Held,
            bench: Bench,
        ) {
            var now = now(bench)
            repeat(MOST_LOOKS) {
                if (now.isWithin(before)) return
                delay(100.milliseconds)
                now = now(bench)
            }
            withClue("held before: $before, now: $now, open: ${open()}") { now.isWithin(before) shouldBe true }
        }

        private fun open() = Diagnostics.openResources().groupingBy { it.resource().javaClass.simpleName }.eachCount()

        fun now(bench: Bench): Held {
            System.gc()
            return Held(
                Diagnostics.openResources().count { it.resource() !is CompletionQueue },
                if (bench.device.provider == "native") kernels(bench.device.name) else emptyMap(),
                Files.list(Path.of("/proc/self/fd")).use { it.count().toInt() },
                ManagementFactory.getPlatformMXBeans(BufferPoolMXBean::class.java).single { it.name == "direct" }.memoryUsed,
                ManagementFactory.getMemoryMXBean().heapMemoryUsage.used,
            )
        }

        /** `0: rxe0: pd 3 cq 2 qp 4 cm_id 5 mr 6 ctx 1 srq 0` */
        private fun kernels(device: String): Map<String, Int> {
            val process = ProcessBuilder("rdma", "resource", "show", device).redirectErrorStream(true).start()
            val text = process.inputReader().use { it.readText() }
            check(process.waitFor() == 0) { "rdma resource show $device: $text" }
            return COUNT.findAll(text).map { it.groupValues[1] to it.groupValues[2].toInt() }.filter { it.first in COUNTED }.toMap()
        }
    }
}
