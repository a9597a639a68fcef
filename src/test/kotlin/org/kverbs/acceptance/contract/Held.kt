package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.delay
import org.kverbs.CompletionQueue
import org.kverbs.Diagnostics
import org.kverbs.MemoryRegion
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import java.lang.management.BufferPoolMXBean
import java.lang.management.ManagementFactory
import kotlin.time.Duration.Companion.milliseconds

/**
 * Describes the resources that this process holds.
 *
 * @property resources open resources of each kind, without completion queues, which a dispatcher keeps, and without
 *     memory regions, some of which caches keep
 * @property regions open memory regions
 * @property kernels the kernel's counts for the device and all processes; empty for an embedded one
 * @property files open descriptors of each kind
 * @property arenas bytes of native memory
 * @property heap bytes of reachable objects
 */
internal data class Held(
    val resources: Map<String, Int>,
    val regions: Int,
    val kernels: Map<String, Int>,
    val files: Map<String, Int>,
    val arenas: Long,
    val heap: Long,
) {
    /**
     * Tells whether this is no more than [before], except registered memory, some of which caches keep. The heap may
     * grow by some pages, since caches of the JVM fill.
     */
    fun isWithin(before: Held): Boolean =
        resources noMoreThan before.resources &&
            kernels noMoreThan before.kernels &&
            files.values.sum() <= before.files.values.sum() &&
            heap <= before.heap + 1.MiB

    /** Tells whether this has no more regions than [before], and no more native memory but for some pages. */
    infix fun hasNoMoreMemoryThan(before: Held): Boolean = regions <= before.regions && arenas <= before.arenas + 64.KiB

    /** Returns this with the regions and the native memory of [other] where these are more. */
    fun withMemoryOf(other: Held): Held =
        copy(regions = maxOf(regions, other.regions), arenas = maxOf(arenas, other.arenas))

    private infix fun Map<String, Int>.noMoreThan(before: Map<String, Int>) =
        all { (what, count) ->
            count <=
                before.getOrDefault(what, 0)
        }

    /** Returns the changes of the descriptors since [before]. */
    private fun fileChanges(before: Held): Map<String, Int> =
        (files.keys + before.files.keys)
            .associateWith { files.getOrDefault(it, 0) - before.files.getOrDefault(it, 0) }
            .filterValues { it != 0 }

    override fun toString(): String =
        "$resources, $regions memory regions, ${files.values.sum()} descriptors, " +
            "$arenas bytes, $heap of objects, kernel's $kernels"

    companion object {
        private val COUNT = Regex("(\\w+) (\\d+)")
        private val DIRECT =
            ManagementFactory.getPlatformMXBeans(BufferPoolMXBean::class.java).single { it.name == "direct" }
        private const val MOST_LOOKS = 100
        private const val LOOKS_AT_MEMORY = 20
        private val COUNTED = setOf("pd", "qp", "cm_id")

        /**
         * Waits until no more than [before] is held: releasing may take a moment. Also waits a little for memory
         * beyond [most] to be released, but does not insist.
         */
        suspend fun shouldComeTo(
            before: Held,
            most: Held,
            bench: Bench,
        ): Held {
            var now = now(bench)
            repeat(MOST_LOOKS) { look ->
                if (now.isWithin(before) && (look >= LOOKS_AT_MEMORY || now hasNoMoreMemoryThan most)) return now
                delay(100.milliseconds)
                now = now(bench)
            }
            withClue("held before: $before, now: $now, descriptors: ${now.fileChanges(before)}") {
                now.isWithin(before) shouldBe true
            }
            return now
        }

        /** Waits until two measurements in succession are equal. */
        suspend fun whenCalm(bench: Bench): Held {
            var before = now(bench)
            repeat(MOST_LOOKS) {
                delay(100.milliseconds)
                val now = now(bench)
                if (now.resources == before.resources && now.kernels == before.kernels) return now
                before = now
            }
            error("what is held changes all the time, and last was $before")
        }

        private fun now(bench: Bench): Held {
            System.gc()
            val (regions, others) =
                Diagnostics
                    .openResources()
                    .map { it.resource() }
                    .filter { it !is CompletionQueue }
                    .partition { it is MemoryRegion }
            return Held(
                others.groupingBy { it.javaClass.simpleName }.eachCount(),
                regions.size,
                if (bench.device.provider == "native") kernels(bench.device.name) else emptyMap(),
                openFiles(),
                DIRECT.memoryUsed,
                ManagementFactory.getMemoryMXBean().heapMemoryUsage.used,
            )
        }

        /** `0: rxe0: pd 3 cq 2 qp 4 cm_id 5 mr 6 ctx 1 srq 0` */
        private fun kernels(device: String): Map<String, Int> {
            val process = ProcessBuilder("rdma", "resource", "show", device).redirectErrorStream(true).start()
            val text = process.inputReader().use { it.readText() }
            check(process.waitFor() == 0) { "rdma resource show $device: $text" }
            return COUNT
                .findAll(text)
                .map { it.groupValues[1] to it.groupValues[2].toInt() }
                .filter { it.first in COUNTED }
                .toMap()
        }
    }
}
