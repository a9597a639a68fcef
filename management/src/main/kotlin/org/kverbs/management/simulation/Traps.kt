package org.kverbs.management.simulation

import org.kverbs.attributes.Gid
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NoticeSMP
import org.kverbs.management.structures.NoticeTrap128
import org.kverbs.management.structures.NoticeTrap256
import org.kverbs.management.structures.NoticeTrap64
import org.kverbs.management.structures.NoticeType
import org.kverbs.management.structures.TrapNumber
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Lid

/** Makes the traps that nodes send to their subnet manager. */
internal class Traps(
    private val network: Network,
) {
    private var next = 1L

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
