package org.kverbs.acceptance.contract

import org.kverbs.Gid
import org.kverbs.QueuePairType
import java.net.Inet6Address
import java.net.NetworkInterface
import kotlin.random.Random

/**
 * What one device can do and another can't. [CapabilitiesSpec] checks both sides of it: what is declared works, and
 * what is not declared is refused, so no case is ever left out without a reason that was tested.
 */
internal enum class Capability {
    /** RC queue pairs are connected by ibv_modify_qp alone, without rdma_cm. */
    RAW_CONNECT,

    /**
     * Posts to a queue pair in the wrong state are refused; soft-iWARP takes receives, and refuses only the send that
     * wakes it.
     */
    CHECKS_STATE,

    /** Queue pairs of type UC. */
    UNRELIABLE_CONNECTION,

    /** Queue pairs of type UD. */
    DATAGRAM,

    /** ibv_create_ah. */
    ADDRESS_HANDLES,

    /** ibv_attach_mcast. */
    MULTICAST,

    /** What is sent to a multicast group reaches it: Linux has no route for IPv6 groups on the loopback interface. */
    MULTICAST_ROUTE,

    /** Compare and swap, fetch and add. */
    ATOMICS,

    /** Memory windows of type 1 and 2. */
    MEMORY_WINDOWS,

    /** ibv_resize_cq. */
    RESIZE_CQ,

    /** ibv_modify_srq with IBV_SRQ_MAX_WR. */
    RESIZE_SRQ,

    /** ibv_query_srq. */
    QUERY_SRQ,

    /** ibv_rereg_mr. */
    REREGISTER,

    /**
     * The completion of a receive says which key a send with invalidate ended (IBV_WC_WITH_INV). Soft-RoCE gives user
     * programs the kernel's number of that flag, which is another.
     */
    REPORTS_INVALIDATED_KEY,

    /**
     * A window admits to its own bytes only, and not to all of its region (Soft-RoCE of Linux 6.1 checks no more than
     * that).
     */
    CHECKS_WINDOW_BOUNDS,

    /**
     * A wrong lkey is a LOC_PROT_ERR and a message longer than its receive a LOC_LEN_ERR, as in IBA volume 1, 11.6.2.
     * Soft-RoCE calls some of them LOC_QP_OP_ERR.
     */
    PRECISE_LOCAL_ERRORS,

    /**
     * A receive that is posted in the error state is flushed (IBA C10-42); Soft-RoCE keeps it until the queue pair
     * goes.
     */
    FLUSHES_LATE_RECEIVES,

    /**
     * Completion queues and queue pairs of ibv_create_cq_ex and ibv_create_qp_ex, and the calls that poll and post on
     * these.
     */
    EXTENDED_QUEUES,

    /**
     * The extended calls gather from entries of different lengths. Soft-RoCE's library takes all to be as long as the
     * first (rdma-core before 63).
     */
    EXTENDED_GATHERING,

    /** The extended calls bind windows on UC, too, as the plain ones do. */
    EXTENDED_UC_WINDOWS,

    /** The GID table follows the IP addresses of the network device, with an event for each change. */
    ADDRESS_EVENTS,
}

/**
 * A device that the contract is checked on.
 *
 * @property name as libibverbs names it
 * @property provider which provider it comes from
 * @property netdev the network device that it works on; empty for none
 * @property capabilities all that it can do
 * @property isIpv6 whether its addresses are of IPv6 only
 */
internal class DeviceUnderTest(
    val name: String,
    val provider: String,
    val netdev: String,
    val capabilities: Set<Capability>,
    val isIpv6: Boolean = false,
) {
    /**
     * A multicast group: a drawn one, because what another build on this machine sends to its groups reaches ours, too.
     * With the kernel's drivers, one that every interface has joined: all hosts (RFC 1112). Over IPv6 all nodes
     * (RFC 4291), as one build at a time has ::1.
     */
    val group: Gid =
        Gid.parse(
            when {
                isIpv6 -> "ff02::1"
                provider == "native" -> "224.0.0.1"
                else -> drawnGroup()
            },
        )

    /**
     * Why its cases are skipped, and counted as such; null where they run. Under KVERBS_REQUIRE_TOOLS=1, as in
     * ./verify, they run and fail.
     */
    val absence: String?
        get() =
            "this machine has no ::1: 'sysctl net.ipv6.conf.lo.disable_ipv6=0' gives it one"
                .takeIf { isIpv6 && System.getenv("KVERBS_REQUIRE_TOOLS") != "1" && !hasIpv6() }

    /** Whether it can do all of these. */
    fun can(needed: Array<out Capability>): Boolean = capabilities.containsAll(needed.asList())
}

/**
 * The devices that the contract is checked on: the embedded ones everywhere, the kernel's in the lab, where the
 * property says so. A device that is not there fails each of its cases, unless its [absence][DeviceUnderTest.absence]
 * says why they are skipped.
 */
internal val devicesUnderTest: List<DeviceUnderTest> =
    System.getProperty("kverbs.contract", "embedded").let { where ->
        if (where == "embedded") chooseEmbedded()
        checkNotNull(devices[where]) { "kverbs.contract is '$where', and must be one of ${devices.keys}" }
    }

private val devices: Map<String, List<DeviceUnderTest>>
    get() =
        mapOf(
            "embedded" to listOf(embedded(0), embedded(1), embedded(2, isIpv6 = true)),
            "lab" to
                listOf(
                    DeviceUnderTest("rxe0", "native", "dummy0", Capability.entries.toSet() - softRoceLacks),
                    DeviceUnderTest("siw0", "native", "dummy1", emptySet()),
                ),
        )

/**
 * Asks for embedded devices in this JVM, and on UDP sockets over IPv4 and IPv6. The IPv4 address is drawn: another
 * build on this machine could have a fixed one. Of IPv6 there is ::1 alone, which each case waits for.
 */
private fun chooseEmbedded() {
    val address = "127.${Random.nextInt(128, 255)}.${Random.nextInt(256)}.${Random.nextInt(1, 255)}"
    System.setProperty("kverbs.embedded", "memory,udp:$address,udp:::1")
}

/** A group of IPv4's administratively scoped ones (RFC 2365). */
internal fun drawnGroup(): String = "239.${Random.nextInt(256)}.${Random.nextInt(256)}.${Random.nextInt(1, 255)}"

private fun embedded(
    index: Int,
    isIpv6: Boolean = false,
): DeviceUnderTest {
    val lacks =
        if (isIpv6) {
            setOf(
                Capability.ADDRESS_EVENTS,
                Capability.MULTICAST_ROUTE,
            )
        } else {
            setOf(Capability.ADDRESS_EVENTS)
        }
    return DeviceUnderTest("embedded$index", "embedded", "", Capability.entries.toSet() - lacks, isIpv6)
}

/** Containers often have no IPv6 at all, and then nothing can be tried over it. */
private fun hasIpv6() =
    NetworkInterface
        .networkInterfaces()
        .flatMap { it.inetAddresses() }
        .anyMatch { it is Inet6Address && it.isLoopbackAddress }

/** What Soft-RoCE of Linux 6.1 can't do. */
private val softRoceLacks: Set<Capability>
    get() =
        setOf(
            Capability.REREGISTER,
            Capability.REPORTS_INVALIDATED_KEY,
            Capability.CHECKS_WINDOW_BOUNDS,
            Capability.PRECISE_LOCAL_ERRORS,
            Capability.FLUSHES_LATE_RECEIVES,
            Capability.EXTENDED_GATHERING,
            Capability.EXTENDED_UC_WINDOWS,
        )

/** What a device needs to bring two queue pairs of a type to RTS. */
internal val QueuePairType.capability: Capability
    get() =
        when (this) {
            QueuePairType.RC -> Capability.RAW_CONNECT
            QueuePairType.UC -> Capability.UNRELIABLE_CONNECTION
            QueuePairType.UD -> Capability.DATAGRAM
            else -> error("no case connects a queue pair of type $this")
        }
