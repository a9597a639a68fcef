package org.kverbs.cli.perf

/** The unit of bandwidths: MB of 2^20 bytes as perftest's, or Gb of 10^9 bits. */
internal enum class PerfUnits(
    val text: String,
    private val bytes: Double,
) {
    MEBIBYTES("MB/sec", (1 shl 20).toDouble()),
    GIGABITS("Gb/sec", 1e9 / 8),
    ;

    /** Turns messages of this size a second into the unit. */
    fun of(
        size: Int,
        messages: Double,
    ) = messages * size / bytes
}
