package org.kverbs.management.subnet

import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transaction.DATA
import org.kverbs.management.transaction.FaultyTransport
import org.kverbs.structures.Guid
import org.kverbs.structures.Structure

/** What a question asks: the ports on the way, the attribute, and its modifier. */
internal class Question(
    val hops: List<Int>,
    val attribute: Int,
    val modifier: Int,
) {
    val isNodeInfo get() = attribute == NodeInfo.attributeId
    val isPortInfo get() = attribute == PortInfo.attributeId
}

/** The answer to a request, whose data are [data]; null for a status that refuses. */
internal fun reply(
    request: ByteArray,
    data: ByteArray?,
): ByteArray {
    val answer = request.copyOf()
    MADHeader.at(answer).apply {
        method = Method.GET_RESP
        status = if (data == null) 0x801c else 0x8000
    }
    data?.copyInto(answer, DATA, 0, minOf(data.size, 64))
    return answer
}

/** Reads the question out of a request by a directed route. */
internal fun question(request: ByteArray): Question {
    val smp = SMPFormatDirected.at(request)
    val hops = (1..smp.madHeader.hopCount).map { smp.initialPath[it] }
    return Question(hops, smp.madHeader.attributeID, smp.madHeader.attributeModifier.toInt())
}

/** A fabric whose answers a test makes up. A null answer is none at all. */
internal fun lying(answer: (Question) -> Structure?) =
    FaultyTransport { request -> answer(question(request))?.let { deliver(reply(request, it.bytes())) } }

internal fun switchInfo(
    guid: Long,
    ports: Int,
    arrival: Int,
) = NodeInfo {
    nodeType = NodeType.SWITCH
    numPorts = ports
    nodeGUID = Guid(guid)
    portGUID = Guid(guid)
    localPortNum = arrival
}

internal fun hostInfo(
    guid: Long,
    arrival: Int = 1,
) = NodeInfo {
    nodeType = NodeType.CA
    numPorts = 2
    nodeGUID = Guid(guid)
    portGUID = Guid(guid + arrival)
    localPortNum = arrival
}

internal val upPort =
    PortInfo {
        portState = PortState.ACTIVE
        portPhysicalState = PortPhysicalState.LINK_UP
    }

internal val downPort =
    PortInfo {
        portState = PortState.DOWN
        portPhysicalState = PortPhysicalState.POLLING
    }

/** The answer of a node that [node] tells about, with a state for each of its ports. */
internal fun answerOf(
    question: Question,
    name: String = "",
    isUp: (Int) -> Boolean = { true },
    node: (List<Int>) -> NodeInfo?,
): Structure? {
    val info = node(question.hops) ?: return null
    return when (question.attribute) {
        NodeInfo.attributeId -> info
        NodeDescription.attributeId -> NodeDescription { nodeString = name }
        SwitchInfo.attributeId -> SwitchInfo()
        else -> if (isUp(question.modifier)) upPort else downPort
    }
}
