package org.kverbs.acceptance.lab

import org.kverbs.Device
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.await
import java.io.File

/**
 * A wire with Soft-RoCE at one end and no device at the other, which is in a separate network namespace: there a
 * program can have UDP port 4791, which Soft-RoCE holds here. Made at its first use; it ends with the machine.
 */
internal object SoftRoceWire {
    // Not constants: reading them makes the wire.
    val device = "rxe3"
    val netdev = "w1"
    const val HERE = "10.96.0.1"
    const val THERE = "10.96.0.2"

    /** An address for a second program in the other namespace. */
    const val ALSO_THERE = "10.96.0.3"

    /** Two addresses that nobody else uses. */
    val APART = listOf("10.96.0.4", "10.96.0.5")

    const val HERE_IPV6 = "fd00:96::1"
    const val THERE_IPV6 = "fd00:96::2"

    /** An address for a second program in the other namespace. */
    const val ALSO_THERE_IPV6 = "fd00:96::3"
    private const val FAR_NETDEV = "w2"
    private const val NAMESPACE = "peer"
    private const val SOCKET_BUFFER = 4 shl 20
    private const val DEFAULT_SOCKET_BUFFER = 212_992
    private val ends = listOf(listOf("-n", NAMESPACE) to FAR_NETDEV, emptyList<String>() to netdev)

    init {
        said("ip", "netns", "add", NAMESPACE)
        // An active MTU of 4096 needs a larger MTU of the network device.
        val far = listOf("type", "veth", "peer", "name", FAR_NETDEV, "mtu", "4500", "netns", NAMESPACE)
        said("ip", "link", "add", netdev, "mtu", "4500", *far.toTypedArray())
        said("ip", "addr", "add", "$HERE/24", "dev", netdev)
        (
            listOf(
                THERE,
                ALSO_THERE,
            ) + APART
        ).forEach { said("ip", "-n", NAMESPACE, "addr", "add", "$it/24", "dev", FAR_NETDEV) }
        // Without duplicate address detection an IPv6 address can be used at once.
        said("ip", "addr", "add", "$HERE_IPV6/64", "dev", netdev, "nodad")
        for (address in listOf(THERE_IPV6, ALSO_THERE_IPV6)) {
            said("ip", "-n", NAMESPACE, "addr", "add", "$address/64", "dev", FAR_NETDEV, "nodad")
        }
        said("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
        ends.forEach { (where, netdev) -> said("ip", *where.toTypedArray(), "link", "set", netdev, "up") }
        // Nothing limits Soft-RoCE on UC: a message of 1 MiB must fit into the socket's buffer, which by default holds
        // a tenth of it.
        limitSockets(SOCKET_BUFFER)
        said("rdma", "link", "add", device, "type", "rxe", "netdev", netdev)
        val gids = listOf("::ffff:$HERE", HERE_IPV6)
        await("the GIDs of $HERE and $HERE_IPV6") {
            Device.byName(device).open().use { context ->
                context.queryGidTable().map { it.gid().toCompactString() }.containsAll(gids)
            }
        }
    }

    /**
     * Runs [block] while the other namespace cuts packets that leave together apart before they come to the wire, so
     * that a capture shows each of them. On a network card that is the card's work, which no capture shows.
     */
    fun <T> cutApart(block: () -> T): T {
        fun most(packets: String) {
            said("ip", "-n", NAMESPACE, "link", "set", FAR_NETDEV, "gso_max_segs", packets)
        }
        most("1")
        try {
            return block()
        } finally {
            most("65535")
        }
    }

    /** Sets the largest buffer of sockets that are opened from now on, on the whole machine. */
    private fun limitSockets(bytes: Int) = File("/proc/sys/net/core/rmem_max").writeText("$bytes")

    /** Runs [block] with Linux' default limit for sockets that it opens. */
    fun <T> withDefaultSockets(block: () -> T): T {
        limitSockets(DEFAULT_SOCKET_BUFFER)
        try {
            return block()
        } finally {
            limitSockets(SOCKET_BUFFER)
        }
    }

    /** Starts a program in the other namespace, with the embedded device `embedded0` at an [address] there. */
    fun start(
        address: String,
        vararg command: String,
    ): Process {
        val builder = ProcessBuilder("ip", "netns", "exec", NAMESPACE, *command)
        builder.environment()["KVERBS_EMBEDDED"] = "udp:$address"
        return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start()
    }

    /** Starts a Java [program] of this package there, in the same way. */
    fun startJava(
        address: String,
        program: String,
    ): Process {
        val java = ProcessHandle.current().info().command()
        val options = listOf("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--enable-native-access=ALL-UNNAMED")
        val classes = listOf("-cp", System.getProperty("java.class.path"), "org.kverbs.acceptance.lab.$program")
        return start(address, java.orElseThrow(), *(options + classes).toTypedArray())
    }

    /** Runs [block] while packets in both directions pass a queueing discipline, in the words of tc(8). */
    fun <T> impaired(
        discipline: String,
        block: () -> T,
    ): T {
        try {
            for ((where, netdev) in ends) {
                said(
                    "tc",
                    *where.toTypedArray(),
                    "qdisc",
                    "add",
                    "dev",
                    netdev,
                    "root",
                    *discipline.split(' ').toTypedArray(),
                )
            }
            return block()
        } finally {
            for ((where, netdev) in ends) {
                said("tc", *where.toTypedArray(), "qdisc", "del", "dev", netdev, "root")
            }
        }
    }

    /**
     * Returns Soft-RoCE's counters of lost packets: those that the peer sent twice or too early, and those of ours that
     * the peer missed. Soft-RoCE's own timer is left out: a message does not restart it, so that it sometimes expires
     * while the next is in flight.
     */
    fun losses(): Map<String, Long> =
        listOf("duplicate_request", "out_of_seq_request", "rcvd_seq_err").associateWith {
            File("$counters/$it").readText().trim().toLong()
        }

    private val counters = "/sys/class/infiniband/$device/ports/$PORT/hw_counters"
}

/** Returns the output of a program, which must succeed. */
internal fun said(vararg command: String): String {
    val process = ProcessBuilder(*command).redirectErrorStream(true).start()
    return process.inputReader().readText().also {
        check(
            process.waitFor() == 0,
        ) { "${command.joinToString(" ")}: $it" }
    }
}
