package org.kverbs.cli.perf

/**
 * The tests of `kverbs perf`, with the words and the titles of perftest's programs: `write-lat` is ib_write_lat(1).
 *
 * @property operation the verb that is measured
 * @property isLatency true if the test times single messages; otherwise it counts many at a time
 * @property title the name over perftest's table
 */
enum class PerfTest(
    val operation: Operation,
    val isLatency: Boolean,
    val title: String,
) {
    SEND_LAT(Operation.SEND, true, "Send Latency Test"),
    SEND_BW(Operation.SEND, false, "Send BW Test"),
    WRITE_LAT(Operation.WRITE, true, "RDMA_Write Latency Test"),
    WRITE_BW(Operation.WRITE, false, "RDMA_Write BW Test"),
    READ_LAT(Operation.READ, true, "RDMA_Read Latency Test"),
    READ_BW(Operation.READ, false, "RDMA_Read BW Test"),
    ATOMIC_LAT(Operation.ATOMIC, true, "Atomic FETCH_AND_ADD Latency Test"),
    ATOMIC_BW(Operation.ATOMIC, false, "Atomic FETCH_AND_ADD BW Test"),
    ;

    /** The verb that a test measures. */
    enum class Operation { SEND, WRITE, READ, ATOMIC }

    /** True if both ends send by turns, and the figures are half of the time there and back. */
    internal val isPingPong get() = isLatency && (operation == Operation.SEND || operation == Operation.WRITE)

    /** True if the operation has an answer, so that the device limits how many are under way. */
    internal val isRead get() = operation == Operation.READ || operation == Operation.ATOMIC

    /** The word on the command line: `write-lat`. */
    override fun toString() = name.lowercase().replace('_', '-')
}
