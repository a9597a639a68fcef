package org.kverbs.acceptance.lab

import org.kverbs.Device
import org.kverbs.acceptance.contract.PORT
import org.kverbs.acceptance.contract.await
import java.io.File

/**
 * Soft-RoCE at one end of a wire and nothing at the other, which is in a network namespace of its own: there a program can have UDP port
 * 4791, which Soft-RoCE holds here. Made when it is first used; the machine is thrown away with all of it.
 */
internal object SoftRoceWire {
    const val DEVICE = "rxe3"
    const val HERE = "10.96.0.1"
    const val THERE = "10.96.0.2"
    const val NETDEV = "w1"
    private const val FAR_NETDEV = "w2"
    private const val NAMESPACE = "peer"
    private val ends = listOf(listOf("-n", NAMESPACE) to FAR_NETDEV, emptyList<String>() to NETDEV)

    init {
        said("ip", "netns", "add", NAMESPACE)
        // An active MTU of 4096 needs more than that.
        val far = listOf("type", "veth", "peer", "name", FAR_NETDEV, "mtu", "4500", "netns", NAMESPACE)
        said("ip", "link", "add", NETDEV, "mtu", "4500", *far.toTypedArray())
        said("ip", "addr", "add", "$HERE/24", "dev", NETDEV)
        said("ip", "-n", NAMESPACE, "addr", "add", "$THERE/24", "dev", FAR_NETDEV)
        said("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
        ends.forEach { (where, netdev) -> said("ip", *where.toTypedArray(), "link", "set", netdev, "up") }
        said("rdma", "link", "add", DEVICE, "type", "rxe", "netdev", NETDEV)
        await("the GID of $HERE") {
            Device.byName(DEVICE).open().use { device -> device.queryGidTable().any { it.gid().toCompactString() == "::ffff:$HERE" } }
        }
    }

    /** Starts a program in the other namespace, where the embedded device `embedded0` has the address [THERE]. */
    fun start(vararg command: String): Process {
        val builder = ProcessBuilder("ip", "netns", "exec", NAMESPACE, *command)
        builder.environment()["KVERBS_EMBEDDED"] = "udp:$THERE"
        return builder.redirectError(ProcessBuilder.Redirect.INHERIT).start()
    }

    /** Runs [block] while packets in both directions meet what tc-netem(8) does by these words. */
    fun <T> impaired(
        netem: String,
        block: () -> T,
    ): T {
        try {
            for ((where, netdev) in ends) {
                said("tc", *where.toTypedArray(), "qdisc", "add", "dev", netdev, "root", "netem", *netem.split(' ').toTypedArray())
            }
            return block()
        } finally {
            for ((where, netdev) in ends) {
                said("tc", *where.toTypedArray(), "qdisc", "del", "dev", netdev, "root")
            }
        }
    }

    /** What Soft-RoCE has counted that tells of lost packets and of packets sent again. */
    fun troubles(): Map<String, Long> = TROUBLES.associateWith { File("$COUNTERS/$it").readText().trim().toLong() }

    private const val COUNTERS = "/sys/class/infiniband/$DEVICE/ports/$PORT/hw_counters"

    /** In words: the peer sent it twice, the peer sent it too early, the peer missed one of ours, we sent all again. */
    private val TROUBLES = listOf("duplicate_request", "out_of_seq_request", "rcvd_seq_err", "completer_retry_err")
}

/** What a program prints; it must succeed. */
internal fun said(vararg command: String): String {
    val process = ProcessBuilder(*command).redirectErrorStream(true).start()
    return process.inputReader().readText().also { check(process.waitFor() == 0) { "${command.joinToString(" ")}: $it" } }
}
