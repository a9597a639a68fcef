package org.kverbs.ibtool.fabric

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/**
 * The nodes of a subnet in the order in which infiniband-diags prints them: the last found is the first. Our discovery
 * asks in parallel; this repeats on the finished subnet what libibnetdisc does one question after the other.
 */
internal class DiscoveryOrder(
    private val subnet: Subnet,
) {
    private class Question(
        val kind: Int,
        val node: SubnetNode?,
        val port: SubnetPort?,
        val path: DirectedPath,
    )

    private val found = LinkedHashMap<SubnetNode, Pair<DirectedPath, Int>>()
    private val questions = ArrayDeque<Question>()

    /** How many links the farthest node is away. */
    var hops: Int = 0
        private set

    /** How many questions libibnetdisc asks. */
    var questionCount: Int = 0
        private set

    init {
        subnet.here?.let { here ->
            ask(Question(NODE_INFO, null, null, DirectedPath(listOf(0))))
            while (questions.isNotEmpty()) answer(questions.removeFirst(), here)
        }
    }

    /** All nodes. */
    val nodes: List<SubnetNode> = found.keys.reversed()

    /** The nodes of a type. */
    fun nodes(type: NodeType): List<SubnetNode> = nodes.filter { it.type == type }

    val switches: List<SubnetNode> get() = nodes(NodeType.SWITCH)
    val hosts: List<SubnetNode> get() = nodes(NodeType.CA)
    val routers: List<SubnetNode> get() = nodes(NodeType.ROUTER)

    /** The path by which libibnetdisc has found a node. */
    fun path(node: SubnetNode): DirectedPath = found.getValue(node).first

    private fun ask(question: Question) {
        questionCount++
        questions += question
    }

    private fun answer(
        question: Question,
        here: SubnetPort,
    ) {
        when (question.kind) {
            NODE_INFO -> {
                nodeInfo(question, here)
            }

            PORT_ZERO -> {
                question.node?.let { node ->
                    for (number in 1..node.portCount) portInfo(node, number, question.path)
                }
            }

            PORT_INFO -> {
                question.port?.let { port(it, question.path, here) }
            }

            EXTENDED -> {
                question.port?.let { behind(it, question.path, here) }
            }
        }
    }

    private fun nodeInfo(
        question: Question,
        here: SubnetPort,
    ) {
        val from = question.port
        val port = (if (from == null) here else from.peer) ?: return
        val node = port.node
        val path = question.path
        if (node !in found) {
            found[node] = path to port.number
            ask(Question(OTHER, node, null, path))
            if (node.isSwitch) {
                ask(Question(OTHER, node, null, path))
                ask(Question(PORT_ZERO, node, null, path))
            }
        }
        if (!node.isSwitch) portInfo(node, port.number, path)
    }

    private fun portInfo(
        node: SubnetNode,
        number: Int,
        path: DirectedPath,
    ) = ask(Question(PORT_INFO, node, node.port(number), path))

    private fun port(
        port: SubnetPort,
        path: DirectedPath,
        here: SubnetPort,
    ) {
        val info = port.info ?: return
        val isFdr10Possible =
            port.physicalState == PortPhysicalState.LINK_UP && info.linkSpeedActive == LinkSpeed.QDR &&
                info.linkSpeedExtActive == LinkSpeedExt.NONE && Mellanox.hasExtendedPortInfo(port.node.info)
        if (isFdr10Possible) ask(Question(EXTENDED, port.node, port, path)) else behind(port, path, here)
    }

    private fun behind(
        port: SubnetPort,
        path: DirectedPath,
        here: SubnetPort,
    ) {
        if (port.number == 0 || port.physicalState != PortPhysicalState.LINK_UP) return
        val node = port.node
        val leadsOn =
            if (node.isSwitch) port.number != found.getValue(node).second else port == here
        if (!leadsOn || path.length >= DirectedPath.MAX_HOPS) return
        val on = path + port.number
        if (on.length > hops) hops++
        ask(Question(NODE_INFO, node, port, on))
    }

    private companion object {
        private const val NODE_INFO = 0
        private const val PORT_ZERO = 1
        private const val PORT_INFO = 2
        private const val EXTENDED = 3
        private const val OTHER = 4
    }
}
