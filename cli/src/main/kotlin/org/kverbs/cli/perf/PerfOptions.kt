package org.kverbs.cli.perf

import org.kverbs.Context
import org.kverbs.attributes.Mtu
import org.kverbs.cli.pingpong.Peer
import org.kverbs.cli.pingpong.Transport
import org.kverbs.cli.pingpong.UnfitOptionException
import org.kverbs.cli.pingpong.Waiting
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * The options of a measurement; the defaults are those of perftest's programs.
 *
 * @property test the test
 * @property device the name of the RDMA device, or null for the first one
 * @property transport the embedded devices to make for the test, or null for the devices that there are
 * @property devicePort the port of the device, from 1
 * @property gidIndex the entry of the port's GID table to send from, or null for the one that suits best
 * @property sizes the bytes of a message, in the order of the rows
 * @property iterations the number of messages of a row, of each queue pair
 * @property duration the time of a row, in place of [iterations]; null for a number of messages
 * @property depth how many messages of a queue pair are under way at a time
 * @property receiveDepth how many receives of a queue pair are posted at a time
 * @property queuePairs the number of queue pairs, each of which sends its own messages
 * @property mtu the path MTU, or null for the smaller of the two ports' active MTUs
 * @property bothWays both ends send at the same time, and the rates are the sum
 * @property waiting by suspend functions, which is the default, or by polling
 * @property byConnectionManager the queue pairs are connected by rdma_cm; otherwise with addresses that TCP exchanged
 * @property asPerftest the peer is a program of perftest
 * @property warmUp messages of each queue pair before the first row, which are not measured; null for the usual number
 * @property timeout the longest time that this end waits for the peer
 * @property peer the program at the other end
 */
data class PerfOptions(
    val test: PerfTest,
    val device: String? = null,
    val transport: Transport? = null,
    val devicePort: Int = 1,
    val gidIndex: Int? = null,
    val sizes: List<Int> = listOf(defaultSize(test)),
    val iterations: Int = if (test.isLatency) 1000 else 5000,
    val duration: Duration? = null,
    val depth: Int = if (test.isLatency) 1 else 128,
    val receiveDepth: Int = 512,
    val queuePairs: Int = 1,
    val mtu: Mtu? = null,
    val bothWays: Boolean = false,
    val waiting: Waiting = Waiting.SUSPENDED,
    val byConnectionManager: Boolean = false,
    val asPerftest: Boolean = false,
    val warmUp: Int? = null,
    val timeout: Duration = 60.seconds,
    val peer: Peer = Peer.Own,
) {
    /** The bytes of the longest message. */
    internal val longest get() = sizes.max()

    /** One completion for so many messages: as perftest's `-Q`, 100 with deep queues. */
    internal val moderation
        get() = if (test.isLatency || waiting != Waiting.POLLED) 1 else minOf(MODERATION, maxOf(depth / 4, 1))

    /** The number of messages before the measured ones, in which the JVM compiles. perftest's programs have none. */
    internal val warmUpMessages: Int
        get() =
            when {
                asPerftest -> 0
                warmUp != null -> warmUp
                else -> (WARM_UP_BYTES / sizes.first()).coerceIn(FEWEST_WARM_UP, MOST_WARM_UP).toInt()
            }

    /** The options that both ends must share, by their names on the command line. */
    internal fun rules(): Map<String, String> =
        mapOf(
            "test" to "$test",
            "size" to if (sizes.size == 1) "${sizes.first()}" else "all",
            "iters" to if (duration == null) "$iterations" else "-",
            "duration" to (duration?.inWholeSeconds?.toString() ?: "-"),
            "qp" to "$queuePairs",
            "mtu" to (mtu?.bytes()?.toString() ?: "-"),
            "bidirectional" to if (bothWays) "on" else "off",
            "rdma_cm" to if (byConnectionManager) "on" else "off",
            "warm-up" to "$warmUpMessages",
        )

    /** Compares the options with what the device and its port can do. */
    internal fun requireFit(context: Context) {
        val name = context.device().name()
        val limits = context.queryDevice()
        val ports = limits.physPortCnt()
        fit("--ib-port", devicePort <= ports) { "$name has ports 1 to $ports, not $devicePort" }
        val port = context.queryPort(devicePort)
        val largest = port.maxMessageSize()
        fit("--size", longest <= largest) { "$name sends messages of at most $largest bytes, and $longest is more" }
        mtu?.let {
            val active = port.activeMtu().bytes()
            fit("--mtu", it.bytes() <= active) { "${it.bytes()} is above the port's active MTU of $active bytes" }
        }
        gidIndex?.let { index ->
            val used = context.queryGidTable().filter { it.port() == devicePort }.map { it.index() }
            fit("--gid-index", index in used) { "entry $index of the GID table of $name is empty; in use are $used" }
        }
        val work = limits.maxQpWr()
        fit("--tx-depth", depth <= work) { "$name takes at most $work requests at a time, and $depth is more" }
        fit("--rx-depth", receiveDepth <= work) { "$name takes at most $work receives, and $receiveDepth is more" }
        fit("--qp", queuePairs <= limits.maxQp()) { "$name has at most ${limits.maxQp()} queue pairs" }
        val entries = queuePairs.toLong() * (depth + receives)
        fit("--qp", entries <= limits.maxCqe()) {
            "$queuePairs queue pairs of $depth sends and $receives receives need $entries completions, and a queue " +
                "of $name has at most ${limits.maxCqe()}; make --tx-depth or --rx-depth smaller"
        }
        if (test.operation == PerfTest.Operation.ATOMIC) {
            fit("TEST", limits.atomicCapability().toString() != "NONE") { "$name has no atomic operations" }
        }
    }

    /** The number of receives of a queue pair. */
    internal val receives get() = if (test.operation == PerfTest.Operation.SEND) receiveDepth else 1

    private inline fun fit(
        option: String,
        fits: Boolean,
        message: () -> String,
    ) {
        if (!fits) throw UnfitOptionException(option, message())
    }

    companion object {
        /** The number of perftest. */
        private const val MODERATION = 100

        private const val WARM_UP_BYTES = 64L shl 20
        private const val FEWEST_WARM_UP = 100L
        private const val MOST_WARM_UP = 20_000L

        /** Sizes of `-a`: 2 to 2^23 bytes. */
        val ALL_SIZES = (1..23).map { 1 shl it }

        /** The default size of a message, bytes. */
        fun defaultSize(test: PerfTest): Int =
            when {
                test.operation == PerfTest.Operation.ATOMIC -> ATOMIC_BYTES
                test.isLatency -> 2
                else -> 65536
            }

        /** The size of all atomic operations. */
        const val ATOMIC_BYTES = 8
    }
}
