package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.structures.NoticeTrap128
import org.kverbs.management.structures.NoticeTrap129
import org.kverbs.management.structures.NoticeTrap144
import org.kverbs.management.structures.NoticeTrap145
import org.kverbs.management.structures.NoticeTrap256
import org.kverbs.management.structures.NoticeTrap64
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.structures.described
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure

/** Makes the traps that nodes send to their subnet manager. */
internal class Traps(
    private val network: Network,
) {
    private var next = 1L

    /**
     * A trap that a test asks for. What the port itself knows is filled in: its LID and number, and of trap 145 the
     * system image GUID.
     */
    fun asked(
        port: Int,
        trap: TrapNumber,
        details: Structure?,
    ): ByteArray {
        val end = network.endPort(port)
        val given = details ?: ofPort(port, trap)
        val own = details(trap)
        require(own == null || given.description.name == own) {
            "$trap has details of another structure: $own, not ${given.description.name}"
        }
        require(given.bytes().size <= DETAILS_SIZE) { "$given has more than the $DETAILS_SIZE bytes of a notice" }
        return notice(end, trap.value, TYPES[trap] ?: NoticeType.INFORMATIONAL) { dataDetails = given.bytes() }
    }

    /** The name of the structure that a trap's details have, or null if none is known. */
    private fun details(trap: TrapNumber): String? =
        described.choices
            .first { it.name == "TrapDetails" }
            .cases[trap.value.toLong()]
            ?.name

    private fun ofPort(
        port: Int,
        trap: TrapNumber,
    ): Structure {
        val own = Lid(network.lid(network.endPort(port)))
        val spec = network.topology.specOf(port)
        return when (trap) {
            TrapNumber.LINK_STATE_CHANGED -> {
                NoticeTrap128 { lidAddr = own }
            }

            TrapNumber.LINK_INTEGRITY_THRESHOLD,
            TrapNumber.BUFFER_OVERRUN_THRESHOLD,
            TrapNumber.WATCHDOG_TIMER_EXPIRED,
            -> {
                NoticeTrap129 {
                    lidAddr = own
                    portNo = network.topology.numberOf(port)
                }
            }

            TrapNumber.LOCAL_CHANGES -> {
                NoticeTrap144 {
                    lidAddr = own
                    capabilityMask = network.capabilities(network.endPort(port))
                }
            }

            TrapNumber.SYSTEM_IMAGE_GUID_CHANGED -> {
                NoticeTrap145 {
                    lidAddr = own
                    systemImageGUID = Guid(spec.systemGuid ?: network.nodeGuid(network.topology.nodeOf(port)))
                }
            }

            else -> {
                throw IllegalArgumentException("the trap $trap has details that no port knows by itself; give them")
            }
        }
    }

    /** A link of the switch with this end port came or went. */
    fun linkChanged(end: Int): ByteArray =
        notice(end, LINK_STATE, NoticeType.URGENT) {
            dataDetails = NoticeTrap128 { lidAddr = Lid(network.lid(end)) }.bytes()
        }

    /** A request came with a wrong management key. */
    fun wrongKey(
        end: Int,
        request: ByteArray,
    ): ByteArray =
        notice(end, WRONG_KEY, NoticeType.SECURITY) {
            dataDetails =
                NoticeTrap256 {
                    lidAddr = Lid(network.lid(end))
                    drSLID = Lid(if (Mads.isDirected(request)) Mads.sourceLid(request) else 0)
                    method = Method.of(Mads.method(request))
                    attributeID = Mads.attribute(request)
                    attributeModifier = Mads.modifier(request).toLong() and 0xffffffffL
                    mKey = Mads.mKey(request)
                    drNotice = Mads.isDirected(request)
                }.bytes()
        }

    /** The subnet administrator at this end port has noticed that a port or a multicast group came or went. */
    fun gidChanged(
        end: Int,
        trap: TrapNumber,
        gid: Gid,
    ): ByteArray =
        notice(end, trap.value, NoticeType.SUBNET_MANAGEMENT) {
            producerTypeVendorID = CLASS_MANAGER
            dataDetails = NoticeTrap64 { gidAddr = gid }.bytes()
        }

    private fun notice(
        end: Int,
        number: Int,
        type: NoticeType,
        details: NoticeSMP.() -> Unit,
    ): ByteArray {
        val mad = mad(ManagementClass.SUBN_LID_ROUTED, 1, Method.TRAP, next++)
        NoticeSMP.at(mad, Mads.DATA).apply {
            isGeneric = true
            this.type = type
            producerTypeVendorID = network.topology.specOf(end).kind
            trapNumberDeviceID = number
            issuerLID = Lid(network.lid(end))
            details()
        }
        return mad
    }

    companion object {
        private const val NOTICE = 2
        private const val CLASS_MANAGER = 4
        private const val LINK_STATE = 128
        private const val WRONG_KEY = 256
        private val DETAILS_SIZE = NoticeTrap128.byteSize

        /** The types of the traps of subnet management: IBA 14.2.5.1. Those that are not here inform. */
        private val TYPES =
            listOf(
                TrapNumber.LINK_STATE_CHANGED,
                TrapNumber.LINK_INTEGRITY_THRESHOLD,
                TrapNumber.BUFFER_OVERRUN_THRESHOLD,
                TrapNumber.WATCHDOG_TIMER_EXPIRED,
            ).associateWith { NoticeType.URGENT } +
                listOf(
                    TrapNumber.BAD_MKEY,
                    TrapNumber.BAD_PKEY,
                    TrapNumber.BAD_QKEY,
                    TrapNumber.BAD_SWITCH_PKEY,
                ).associateWith { NoticeType.SECURITY }

        /** A datagram that carries a notice: a trap, or a report of one. */
        fun mad(
            mgmtClass: ManagementClass,
            classVersion: Int,
            method: Method,
            transaction: Long,
        ): ByteArray {
            val mad = ByteArray(MAD_SIZE)
            MADHeader.at(mad).apply {
                baseVersion = 1
                this.mgmtClass = mgmtClass
                this.classVersion = classVersion
                this.method = method
                transactionID = transaction
                attributeID = NOTICE
            }
            return mad
        }
    }
}
