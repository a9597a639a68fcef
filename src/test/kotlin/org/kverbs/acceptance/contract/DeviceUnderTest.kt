package org.kverbs.acceptance.contract

import org.kverbs.QueuePairType

/**
 * What one device can do and another can't. [CapabilitiesSpec] checks both sides of it: what is declared works, and what is not
 * declared is refused, so no case is ever left out without a reason that was tested.
 */
internal enum class Capability {
    /** RC queue pairs are connected by ibv_modify_qp alone, without rdma_cm. */
    RAW_CONNECT,

    /** Posts to a queue pair in the wrong state are refused; soft-iWARP takes receives, and refuses only the send that wakes it. */
    CHECKS_STATE,

    /** Queue pairs of type UC. */
    UNRELIABLE_CONNECTION,

    /** Queue pairs of type UD. */
    DATAGRAM,

    /** ibv_create_ah. */
    ADDRESS_HANDLES,

    /** ibv_attach_mcast. */
    MULTICAST,

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
     * The completion of a receive says which key a send with invalidate ended (IBV_WC_WITH_INV). Soft-RoCE gives user programs the
     * kernel's number of that flag, which is another.
     */
    REPORTS_INVALIDATED_KEY,

    /** A window admits to its own bytes only, and not to all of its region (Soft-RoCE of Linux 6.1 checks no more than that). */
    CHECKS_WINDOW_BOUNDS,

    /**
     * A wrong lkey is a LOC_PROT_ERR and a message longer than its receive a LOC_LEN_ERR, as in IBA volume 1, 11.6.2. Soft-RoCE
     * calls some of them LOC_QP_OP_ERR.
     */
    PRECISE_LOCAL_ERRORS,

    /** A receive that is posted in the error state is flushed (IBA C10-42); Soft-RoCE keeps it until the queue pair goes. */
    FLUSHES_LATE_RECEIVES,

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
 */
internal class DeviceUnderTest(
    val name: String,
    val provider: String,
    val netdev: String,
    val capabilities: Set<Capability>,
) {
    /** Whether it can do all of these. */
    fun can(needed: Array<out Capability>): Boolean = capabilities.containsAll(needed.asList())
}

/**
 * The devices that the contract is checked on: the embedded ones everywhere, the kernel's in the lab, where the property says so. A device
 * that is not there fails each of its cases.
 */
internal val devicesUnderTest: List<DeviceUnderTest> =
    System.getProperty("kverbs.contract", "embedded").let { where ->
        checkNotNull(devices[where]) { "kverbs.contract is '$where', and must be one of ${devices.keys}" }
    }

private val devices: Map<String, List<DeviceUnderTest>>
    get() =
        mapOf(
            // In this JVM, and by UDP sockets: see the build's kverbs.embedded.
            "embedded" to
                listOf("embedded0", "embedded1").map {
                    DeviceUnderTest(it, "embedded", "", Capability.entries.toSet() - Capability.ADDRESS_EVENTS)
                },
            "lab" to
                listOf(
                    DeviceUnderTest("rxe0", "native", "dummy0", Capability.entries.toSet() - softRoceLacks),
                    DeviceUnderTest("siw0", "native", "dummy1", emptySet()),
                ),
        )

/** What Soft-RoCE of Linux 6.1 can't do. */
private val softRoceLacks: Set<Capability>
    get() =
        setOf(
            Capability.REREGISTER,
            Capability.REPORTS_INVALIDATED_KEY,
            Capability.CHECKS_WINDOW_BOUNDS,
            Capability.PRECISE_LOCAL_ERRORS,
            Capability.FLUSHES_LATE_RECEIVES,
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
