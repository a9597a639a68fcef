package org.kverbs.cli.pingpong

import org.kverbs.Context
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairType
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * The options of a ping-pong; the defaults are those of ibv_rc_pingpong(1) and its kin. Type, size and number of
 * iterations must be the same at both ends.
 *
 * @property type RC, UC or UD
 * @property device the name of the RDMA device, or null for the first one; both ends in one process are then on two
 *     embedded devices if there is no hardware
 * @property transport what joins the ends, which are then on embedded devices made for them; null for that of the
 *     device
 * @property devicePort the port of the device, from 1
 * @property size bytes of a message
 * @property mtu the path MTU; UD has none, as a message is a packet
 * @property receiveDepth how many receives are posted at a time
 * @property iterations the number of measured round trips
 * @property warmUp the number of round trips before the measured ones, while the JVM compiles; null for 20,000, for
 *   fewer if the messages are long, and for none if the peer is a ping-pong of rdma-core, which has no warm-up
 * @property serviceLevel of the packets, 0 to 15
 * @property waiting by suspend functions, which is the default, or by polling
 * @property gidIndex the entry of the port's GID table to send from, or null for the one that suits best
 * @property check compare the bytes of every message
 * @property timeout the longest time that this end waits for the peer in each step
 * @property peer the program at the other end
 */
data class PingPongOptions(
    val type: QueuePairType = QueuePairType.RC,
    val device: String? = null,
    val transport: Transport? = null,
    val devicePort: Int = 1,
    val size: Int = defaultSize(type),
    val mtu: Mtu = Mtu.MTU_1024,
    val receiveDepth: Int = 500,
    val iterations: Int = 1000,
    val warmUp: Int? = 0,
    val serviceLevel: Int = 0,
    val waiting: Waiting = Waiting.SUSPENDED,
    val gidIndex: Int? = null,
    val check: Boolean = false,
    val timeout: Duration = 60.seconds,
    val peer: Peer = Peer.Own,
) {
    /**
     * Compares the options with what the device and its port can do, so that the device's EINVAL need not be explained.
     */
    internal fun requireFit(context: Context) {
        val name = context.device().name()
        val limits = context.queryDevice()
        val ports = limits.physPortCnt()
        fit("--ib-port", devicePort <= ports) { "$name has ports 1 to $ports, not $devicePort" }
        val port = context.queryPort(devicePort)
        gidIndex?.let {
            fit("--gid-idx", it < port.gidTableLength()) {
                "port $devicePort of $name has GIDs 0 to ${port.gidTableLength() - 1}, not $it"
            }
            val inUse =
                context
                    .queryGidTable()
                    .filter { entry ->
                        entry.port() == devicePort
                    }.map { entry -> entry.index() }
            fit(
                "--gid-idx",
                it in inUse,
            ) { "entry $it of the GID table of port $devicePort of $name is empty; in use are $inUse" }
        }
        val active = port.activeMtu().bytes()
        if (type == QueuePairType.UD) {
            fit("--size", size <= active) {
                "a UD message is one packet: at most the port's MTU of $active bytes, and $size is more"
            }
        } else {
            val largest = port.maxMessageSize()
            fit("--size", size <= largest) { "$name sends messages of at most $largest bytes, and $size is more" }
            fit("--mtu", mtu.bytes() <= active) { "${mtu.bytes()} is above the port's active MTU of $active bytes" }
        }
        // The completion queue has room for all receives and a send.
        val depth = minOf(limits.maxQpWr(), limits.maxCqe() - 1)
        fit(
            "--rx-depth",
            receiveDepth <= depth,
        ) { "$name takes at most $depth receives at a time, and $receiveDepth is more" }
    }

    private inline fun fit(
        option: String,
        fits: Boolean,
        message: () -> String,
    ) {
        if (!fits) throw UnfitOptionException(option, message())
    }

    /** The options that both ends compare if the peer is a ping-pong of kverbs. */
    internal fun rules() =
        Rules(
            type = type,
            size = size,
            mtu = if (type == QueuePairType.UD) 0 else mtu.bytes(),
            iterations = iterations,
            warmUp = warmUp ?: usualWarmUp(),
            check = check,
        )

    /** Fewer for long messages. */
    private fun usualWarmUp(): Int {
        val rounds = WARM_UP.toLong() * DEFAULT_SIZE / size
        return rounds.coerceIn(FEWEST_WARM_UP, WARM_UP.toLong()).toInt()
    }

    companion object {
        /** The JVM has compiled all that a round needs by then. */
        private const val WARM_UP = 20_000
        private const val FEWEST_WARM_UP = 100L
        private const val DEFAULT_SIZE = 4096

        /** The default size of messages, bytes. */
        fun defaultSize(type: QueuePairType): Int = if (type == QueuePairType.UD) 1024 else DEFAULT_SIZE
    }
}
