package org.kverbs.coroutines.soak

import org.kverbs.coroutines.churn.Holdings
import java.io.File
import java.lang.management.ManagementFactory

/** What a process holds at a moment without load: the memory and resources of [Holdings], descriptors and threads. */
data class SoakHoldings(
    val held: Holdings,
    val descriptors: Int,
    val threads: Int,
) {
    override fun toString(): String = "$MARK$held, $descriptors descriptors, $threads threads"

    companion object {
        private const val MARK = "soak: "
        private val TEXT = Regex("$MARK(.*), (\\d+) descriptors, (\\d+) threads")

        fun now(): SoakHoldings =
            SoakHoldings(
                Holdings.now(),
                File("/proc/self/fd").list().orEmpty().size,
                ManagementFactory.getThreadMXBean().threadCount,
            )

        /** Parses the holdings in a line that a process printed; null for any other line. */
        fun parse(line: String): SoakHoldings? {
            val (held, descriptors, threads) = TEXT.matchEntire(line)?.destructured ?: return null
            return Holdings.parse(held)?.let { SoakHoldings(it, descriptors.toInt(), threads.toInt()) }
        }
    }
}
