package org.kverbs.management.simulation

import org.kverbs.management.rmpp.Rmpp
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.RMPPType

/** The agents of all nodes that answer where no program at the port does, and the refusal of everything else. */
internal class NodeAgents(
    network: Network,
) {
    private val agents: Map<Int, NodeAgent> =
        mapOf(
            ManagementClass.MELLANOX.value to MellanoxAgent(network),
            ManagementClass.CONGESTION_CONTROL.value to CongestionAgent(network),
            ManagementClass.OPENIB_PING.value to PingAgent(network),
            ManagementClass.OPENIB_SYSSTAT.value to SystemAgent(network),
        )

    /** Makes the request its answer. False for a request that gets none. */
    fun answer(
        port: Int,
        mad: ByteArray,
    ): Boolean {
        val method = Mads.method(mad)
        if (method in UNANSWERED || isPartOfTransfer(mad)) return false
        val agent = agents[Mads.mgmtClass(mad)]?.takeIf { it.isOwn(mad) }
        val isKnown = agent != null || Mads.isSubnetManagement(mad)
        val version = agent?.classVersion ?: 1
        val status =
            when {
                !isKnown || Mads.baseVersion(mad) != 1 || Mads.classVersion(mad) != version -> Mads.VERSION_UNSUPPORTED
                method != Mads.GET && method != Mads.SET -> Mads.METHOD_UNSUPPORTED
                agent == null -> Mads.ATTRIBUTE_UNSUPPORTED
                else -> agent.serve(port, mad, method == Mads.SET) ?: return false
            }
        if (Rmpp.dataAt(Mads.mgmtClass(mad)) > 0) mad.fill(0, RMPP_AT, Rmpp.PAYLOAD_AT)
        Mads.answer(mad, status)
        return true
    }

    /** Whether it is an acknowledgement or the end of a long message, to which no answer belongs. */
    private fun isPartOfTransfer(mad: ByteArray) = Rmpp.isActive(mad) && Rmpp.type(mad) != RMPPType.DATA

    companion object {
        private const val RMPP_AT = 24
        private const val CLASS_PORT_INFO = 1
        private const val RESPONSE_TIME = 0x12

        /** Send, Trap and Report: a refusal of them has no method, or helps nobody. */
        private val UNANSWERED = setOf(0x03, Mads.TRAP, 0x06)

        /** Writes ClassPortInfo, if the request asks for it. Null if it asks for something else. */
        fun classPortInfo(
            mad: ByteArray,
            at: Int,
            isSet: Boolean,
        ): Int? {
            if (Mads.attribute(mad) != CLASS_PORT_INFO) return null
            if (isSet) return Mads.ATTRIBUTE_UNSUPPORTED
            mad.fill(0, at, mad.size)
            ClassPortInfo.at(mad, at).apply {
                baseVersion = 1
                classVersion = Mads.classVersion(mad)
                respTimeValue = RESPONSE_TIME
            }
            return 0
        }
    }
}
