package org.kverbs.cli.perf

import com.sun.management.HotSpotDiagnosticMXBean
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.UnfitOptionException
import java.lang.management.ManagementFactory

/** The memory of the messages, which a JVM has outside of its heap. */
internal object PerfMemory {
    private const val MIB = 1L shl 20

    /**
     * Calls [allocate] with the bytes that an end needs for its messages.
     *
     * @throws UnfitOptionException if the JVM has less; it names the bytes, the JVM's limit, and the option that sets
     *   it
     */
    fun <T> orUnfit(
        bytes: Long,
        options: PerfOptions,
        allocate: (Long) -> T,
    ): T =
        try {
            allocate(bytes)
        } catch (e: OutOfMemoryError) {
            val ends = if (options.peer is Peer.Own) 2 else 1
            val each = if (ends == 2) " at each of two ends" else ""
            val needed = mebibytes(ends * bytes)
            throw UnfitOptionException(
                "--size",
                "${options.queuePairs} queue pairs with messages of ${options.longest} bytes need " +
                    "${mebibytes(bytes)} MiB of memory$each, and this JVM has at most ${mebibytes(limit())} MiB for " +
                    "it; make --size or --qp smaller, or set " +
                    "KVERBS_JAVA_OPTIONS=-XX:MaxDirectMemorySize=${needed + ROOM_MIB}m",
                e,
            )
        }

    /** Memory of a JVM for other buffers, sockets' for one. */
    private const val ROOM_MIB = 64

    private fun mebibytes(bytes: Long) = (bytes + MIB - 1) / MIB

    /** The most bytes that this JVM takes outside of its heap; without the option they are as many as its heap's. */
    private fun limit(): Long {
        val bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean::class.java)
        val option = bean?.getVMOption("MaxDirectMemorySize")?.value?.toLongOrNull() ?: 0
        return if (option > 0) option else Runtime.getRuntime().maxMemory()
    }
}
