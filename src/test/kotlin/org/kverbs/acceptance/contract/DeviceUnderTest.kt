package org.kverbs.acceptance.contract

import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.Feature
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairType
import java.net.Inet6Address
import java.net.NetworkInterface
import kotlin.random.Random

/**
 * Lists what one device can do and another can't. [CapabilitiesSpec] checks both sides: a declared capability works,
 * and one that is not declared is refused. So a case is left out only for a tested reason.
 */
internal enum class Capability(
    /** What the device itself says of it: [org.kverbs.Context.supports]. */
    val feature: Feature? = null,
) {
    /** Completion queues of ibv_create_cq_ex whose completions have timestamps. */
    TIMESTAMPS(Feature.COMPLETION_TIMESTAMPS),

    /** ibv_query_rt_values_ex. */
    CLOCK(Feature.DEVICE_CLOCK),

    /** ibv_query_port_speed, which rdma-core 44 of the lab does not have. */
    PORT_SPEED(Feature.PORT_SPEED),

    /** ibv_modify_qp_rate_limit. */
    RATE_LIMIT(Feature.RATE_LIMIT),

    /** Alternate paths of ibv_modify_qp. Soft-RoCE says that it has them, and Linux refuses them on RoCE. */
    PATH_MIGRATION(Feature.PATH_MIGRATION),

    /** ibv_alloc_td. */
    THREAD_DOMAINS(Feature.THREAD_DOMAIN),

    /** ibv_alloc_parent_domain. */
    PARENT_DOMAINS(Feature.PARENT_DOMAIN),

    /** RC queue pairs are connected by ibv_modify_qp alone, without rdma_cm. */
    RAW_CONNECT,

    /**
     * Posts to a queue pair in the wrong state are refused. Soft-iWARP accepts receives, and refuses only the send that
     * needs RTS.
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

    /** Messages to a multicast group reach it. Linux has no route for IPv6 groups on the loopback interface. */
    MULTICAST_ROUTE,

    /** Compare and swap, fetch and add. */
    ATOMICS,

    /** Memory windows of type 1 and 2. */
    MEMORY_WINDOWS,

    /** ibv_resize_cq. */
    RESIZE_CQ,

    /** ibv_modify_cq with IBV_CQ_ATTR_MODERATE. */
    MODERATION(Feature.COMPLETION_MODERATION),

    /** ibv_alloc_null_mr. */
    NULL_REGION(Feature.NULL_REGION),

    /** ibv_alloc_dm and ibv_reg_dm_mr. */
    DEVICE_MEMORY(Feature.DEVICE_MEMORY),

    /** Regions with IBV_ACCESS_ON_DEMAND, also implicit ones. */
    ON_DEMAND_PAGING(Feature.ON_DEMAND_PAGING),

    /** ibv_advise_mr. */
    MEMORY_ADVICE(Feature.MEMORY_ADVICE),

    /** ibv_reg_dmabuf_mr. The embedded device has none, and neither have the kernel's software devices. */
    DMABUF(Feature.DMABUF),

    /** ibv_import_device, ibv_import_pd, ibv_import_mr and ibv_import_dm. */
    IMPORT(Feature.IMPORT),

    /** Shared receive queues of type IBV_SRQT_TM, and ibv_post_srq_ops. */
    TAG_MATCHING(Feature.TAG_MATCHING),

    /** ibv_create_comp_cntr, which rdma-core 44 of the lab does not have. */
    COMPLETION_COUNTERS(Feature.COMPLETION_COUNTERS),

    /** Extended reliable connections. */
    XRC(Feature.XRC),

    /** Queue pairs that take ibv_wr_atomic_write. */
    ATOMIC_WRITE(Feature.ATOMIC_WRITE),

    /** Queue pairs that take ibv_wr_flush, and regions with FLUSH_GLOBAL. */
    FLUSH(Feature.FLUSH),

    /** Sends that the device cuts into TCP segments, on queue pairs of type UD. */
    SEGMENTATION(Feature.SEGMENTATION),

    /** Queue pairs of type RAW_PACKET. */
    RAW_PACKET(Feature.RAW_PACKET),

    /** ibv_create_flow. */
    FLOW_STEERING(Feature.FLOW_STEERING),

    /** ibv_create_flow_action_esp: decrypting by full offload in transport mode. */
    ESP_FLOW_ACTION(Feature.ESP_FLOW_ACTION),

    /** ibv_create_counters. */
    FLOW_COUNTERS(Feature.FLOW_COUNTERS),

    /** ibv_create_wq, and queue pairs that spread frames over work queues. */
    WORK_QUEUES(Feature.WORK_QUEUES),

    /** ibv_modify_srq with IBV_SRQ_MAX_WR. */
    RESIZE_SRQ,

    /** ibv_query_srq. */
    QUERY_SRQ,

    /** ibv_rereg_mr. */
    REREGISTER,

    /**
     * The completion of a receive names the key that a send with invalidate ended (IBV_WC_WITH_INV). Soft-RoCE gives
     * user programs the kernel's number of that flag, which is a different one.
     */
    REPORTS_INVALIDATED_KEY,

    /** A window admits the peer to its own bytes only. Soft-RoCE of Linux 6.1 admits it to the whole region. */
    CHECKS_WINDOW_BOUNDS,

    /**
     * A wrong lkey gives LOC_PROT_ERR and a message longer than its receive LOC_LEN_ERR, as in IBA volume 1, 11.6.2.
     * Soft-RoCE gives LOC_QP_OP_ERR for some of them.
     */
    PRECISE_LOCAL_ERRORS,

    /**
     * A request that its own side refuses completes with the reason as its status. Soft-RoCE of Linux 6.12 flushes it
     * as it flushes those behind it.
     */
    TELLS_LOCAL_ERRORS,

    /** Flushes through windows, and windows that permit no flush which their region does not permit. */
    FLUSHES_THROUGH_WINDOWS,

    /**
     * A receive that is posted in the error state is flushed (IBA C10-42); Soft-RoCE mostly keeps it until the queue
     * pair is destroyed.
     */
    FLUSHES_LATE_RECEIVES,

    /**
     * Completion queues and queue pairs of ibv_create_cq_ex and ibv_create_qp_ex, and the calls that poll and post on
     * these.
     */
    EXTENDED_QUEUES,

    /**
     * The extended calls gather from entries of different lengths. Soft-RoCE's library takes the first length for all
     * (rdma-core before 63).
     */
    EXTENDED_GATHERING,

    /** The extended calls bind windows on UC, too, as the plain ones do. */
    EXTENDED_UC_WINDOWS,

    /** rdma_write_cm_event, rdma_resolve_addrinfo and rdma_query_addrinfo: of librdmacm since rdma-core 60. */
    PROGRAM_EVENTS,

    /** The GID table follows the IP addresses of the network device, with an event for each change. */
    ADDRESS_EVENTS,
}

/**
 * Describes a device that the contract is checked on.
 *
 * @property name the device's name in libibverbs
 * @property provider the provider of the device
 * @property netdev the network device below it; empty for none
 * @property capabilities all its capabilities
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
     * A multicast group. It is random, because messages of another build on this machine reach the same group. With the
     * kernel's drivers it is one that every interface has joined: all hosts (RFC 1112). Over IPv6 it is all nodes (RFC
     * 4291), since only one build at a time has ::1.
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
     * Why its cases are skipped, and counted as such; null if they run. Under KVERBS_REQUIRE_TOOLS=1, as in ./verify,
     * they run and fail.
     */
    val absence: String?
        get() =
            "this machine has no ::1: 'sysctl net.ipv6.conf.lo.disable_ipv6=0' gives it one"
                .takeIf { isIpv6 && System.getenv("KVERBS_REQUIRE_TOOLS") != "1" && !hasIpv6() }

    /** Returns the status of a request that its own side refuses for [reason]. */
    fun localError(reason: WorkCompletionStatus): WorkCompletionStatus =
        if (Capability.TELLS_LOCAL_ERRORS in capabilities) reason else WorkCompletionStatus.WR_FLUSH_ERR

    /** Tells whether the device has all these capabilities. */
    fun can(needed: Array<out Capability>): Boolean = capabilities.containsAll(needed.asList())
}

/**
 * The devices that the contract is checked on: the embedded ones everywhere, the kernel's in the lab, where a property
 * names them. If a device is missing, each of its cases fails, unless its [absence][DeviceUnderTest.absence] tells why
 * they are skipped.
 */
internal val devicesUnderTest: List<DeviceUnderTest> =
    System.getProperty("kverbs.contract", "embedded").let { where ->
        if (where == "embedded") chooseEmbedded()
        checkNotNull(devices[where]) { "kverbs.contract is '$where', and must be one of ${devices.keys}" }
    }

/** The devices of each place where the contract is checked. */
internal val devices: Map<String, List<DeviceUnderTest>>
    get() =
        mapOf(
            "embedded" to listOf(embedded(0), embedded(1), embedded(2, isIpv6 = true)),
            "lab" to
                listOf(
                    DeviceUnderTest("rxe0", "native", "dummy0", Capability.entries.toSet() - softRoceLacks),
                    DeviceUnderTest("siw0", "native", "dummy1", emptySet()),
                ),
            "newer-lab" to
                listOf(
                    DeviceUnderTest(
                        "rxe0",
                        "native",
                        "dummy0",
                        Capability.entries.toSet() - softRoceLacks - Capability.TELLS_LOCAL_ERRORS + newerSoftRoceHas,
                    ),
                ),
        )

/**
 * Configures embedded devices in this JVM, and on UDP sockets over IPv4 and IPv6. The IPv4 address is random: another
 * build on this machine could have a fixed one. IPv6 has only ::1, which each case waits for.
 */
private fun chooseEmbedded() {
    val address = "127.${Random.nextInt(128, 255)}.${Random.nextInt(256)}.${Random.nextInt(1, 255)}"
    System.setProperty("kverbs.embedded", "memory,udp:$address,udp:::1")
}

/** Returns a random group of IPv4's administratively scoped ones (RFC 2365). */
internal fun drawnGroup(): String = "239.${Random.nextInt(256)}.${Random.nextInt(256)}.${Random.nextInt(1, 255)}"

private fun embedded(
    index: Int,
    isIpv6: Boolean = false,
): DeviceUnderTest {
    val lacks =
        buildSet {
            add(Capability.ADDRESS_EVENTS)
            add(Capability.DMABUF)
            if (isIpv6) add(Capability.MULTICAST_ROUTE)
            if (index > 0) addAll(framesOnly) // on UDP sockets
        }
    return DeviceUnderTest("embedded$index", "embedded", "", Capability.entries.toSet() - lacks, isIpv6)
}

/** The capabilities of devices that carry Ethernet frames. */
private val framesOnly: Set<Capability>
    get() =
        setOf(Capability.RAW_PACKET, Capability.FLOW_STEERING, Capability.ESP_FLOW_ACTION) +
            setOf(Capability.FLOW_COUNTERS, Capability.WORK_QUEUES)

/** Containers often have no IPv6; then its cases are skipped. */
private fun hasIpv6() =
    NetworkInterface
        .networkInterfaces()
        .flatMap { it.inetAddresses() }
        .anyMatch { it is Inet6Address && it.isLoopbackAddress }

/** The capabilities that Soft-RoCE of Linux 6.1 lacks. */
private val softRoceLacks: Set<Capability>
    get() =
        setOf(
            Capability.TIMESTAMPS,
            Capability.CLOCK,
            Capability.PORT_SPEED,
            Capability.RATE_LIMIT,
            Capability.PATH_MIGRATION,
            Capability.THREAD_DOMAINS,
            Capability.PARENT_DOMAINS,
            Capability.MODERATION,
            Capability.NULL_REGION,
            Capability.DEVICE_MEMORY,
            Capability.ON_DEMAND_PAGING,
            Capability.MEMORY_ADVICE,
            Capability.DMABUF,
            Capability.IMPORT,
            Capability.TAG_MATCHING,
            Capability.COMPLETION_COUNTERS,
            Capability.XRC,
            Capability.PROGRAM_EVENTS,
            Capability.ATOMIC_WRITE,
            Capability.FLUSH,
            Capability.FLUSHES_THROUGH_WINDOWS,
            Capability.SEGMENTATION,
            Capability.REREGISTER,
            Capability.REPORTS_INVALIDATED_KEY,
            Capability.CHECKS_WINDOW_BOUNDS,
            Capability.PRECISE_LOCAL_ERRORS,
            Capability.FLUSHES_LATE_RECEIVES,
            Capability.EXTENDED_GATHERING,
            Capability.EXTENDED_UC_WINDOWS,
        ) + framesOnly

/** What Soft-RoCE of Linux 6.12 with rdma-core 56 has besides. */
private val newerSoftRoceHas: Set<Capability>
    get() = setOf(Capability.ATOMIC_WRITE, Capability.FLUSH)

/** The capability that brings two queue pairs of a type to RTS. */
internal val QueuePairType.capability: Capability
    get() =
        when (this) {
            QueuePairType.RC -> Capability.RAW_CONNECT
            QueuePairType.UC -> Capability.UNRELIABLE_CONNECTION
            QueuePairType.UD -> Capability.DATAGRAM
            else -> error("no case connects a queue pair of type $this")
        }
