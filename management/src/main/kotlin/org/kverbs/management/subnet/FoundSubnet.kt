package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.structures.Guid
import org.kverbs.structures.copy

private const val LAST_PORT = 254

/** The most problems that a subnet keeps, beside one that says how many further ones there were. */
internal const val MAX_PROBLEMS: Int = 10_000

private val nodeTypes = setOf(NodeType.CA, NodeType.SWITCH, NodeType.ROUTER)

/** What [FoundSubnet.enter] found out of an answer. */
internal class Arrival(
    val port: FoundPort,
    val isNewNode: Boolean,
    val isNewPort: Boolean,
)

/** A subnet while the discovery runs. Any thread can call it. Answers are not trusted. */
internal class FoundSubnet(
    private val maxNodes: Int,
    private val maxPorts: Int,
) {
    private val nodes = HashMap<Long, FoundNode>()
    private val problems = ArrayList<SubnetProblem>()
    private var further = 0
    private var portCount = 0
    private var isFull = false

    val nodeCount: Int
        @Synchronized get() = nodes.size

    /** Takes in the node that answered by way of [from], or at the first port itself. Null for a useless answer. */
    @Synchronized
    fun enter(
        answer: NodeInfo,
        from: FoundPort?,
    ): Arrival? {
        val wrong = wrong(answer, from)
        if (wrong != null) {
            report(SubnetProblemKind.MALFORMED, from, "the node behind this port cannot be: $wrong")
            return null
        }
        val known = nodes[answer.nodeGUID.value]
        if (known != null && !known.isLike(answer)) {
            report(
                SubnetProblemKind.DUPLICATE_GUID,
                known.guid,
                null,
                "the node behind ${from ?: "the first port"} has this GUID, too, but another type or size",
            )
            return null
        }
        val node = known ?: newNode(answer, from) ?: return null
        val old = node.ports[answer.localPortNum]
        val port = old ?: newPort(node, answer.localPortNum, from) ?: return null
        if (port.guid == 0L) port.guid = answer.portGUID.value
        if (from != null) connect(from, port)
        return Arrival(port, known == null, old == null)
    }

    private fun wrong(
        answer: NodeInfo,
        from: FoundPort?,
    ): String? {
        // Only the management port of a switch itself is not at the end of a link.
        val first = if (from == null && answer.nodeType == NodeType.SWITCH) 0 else 1
        return when {
            answer.nodeType !in nodeTypes -> "its type is ${answer.nodeType}"
            answer.numPorts !in 1..LAST_PORT -> "it has ${answer.numPorts} ports"
            answer.localPortNum !in first..answer.numPorts -> "it has no port ${answer.localPortNum}"
            answer.nodeGUID.value == 0L -> "its GUID is zero"
            else -> null
        }
    }

    private fun newNode(
        answer: NodeInfo,
        from: FoundPort?,
    ): FoundNode? {
        val isSwitch = answer.nodeType == NodeType.SWITCH
        val more = if (isSwitch) answer.numPorts + 1 else 1
        if (nodes.size >= maxNodes || portCount + more > maxPorts) return full()
        val node = FoundNode(answer.copy(), from, answer.localPortNum)
        nodes[node.guid] = node
        if (isSwitch) {
            for (number in 0..answer.numPorts) {
                node.ports[number] = FoundPort(node, number, from).also { it.guid = answer.portGUID.value }
            }
            portCount += more
        }
        return node
    }

    private fun newPort(
        node: FoundNode,
        number: Int,
        from: FoundPort?,
    ): FoundPort? {
        if (portCount >= maxPorts) return full()
        portCount++
        return FoundPort(node, number, from).also { node.ports[number] = it }
    }

    private fun full(): Nothing? {
        if (!isFull) report(SubnetProblemKind.LIMIT, null, "there are more than $maxNodes nodes or $maxPorts ports")
        isFull = true
        return null
    }

    private fun connect(
        from: FoundPort,
        to: FoundPort,
    ) {
        from.sees = to
        if (to.node === from.node) report(SubnetProblemKind.LOOP, from, "the port is connected with its own node's $to")
        // The first port sees its neighbour, and the neighbour need not look back.
        val other = to.seenBy ?: to.sees
        if (to.seenBy == null) to.seenBy = from
        if (other != null && other !== from) {
            report(SubnetProblemKind.DUPLICATE_GUID, to, "the port is at the other end of both $other and $from")
        }
    }

    /** Reports the nodes that are known by name alone. */
    @Synchronized
    fun reportMissing(
        guids: Set<Long>,
        text: String,
    ) {
        for (guid in guids - nodes.keys) report(SubnetProblemKind.NO_ANSWER, guid, null, text)
    }

    /**
     * Leaves out the nodes that a discovery which was stopped knows to be there, and nothing more: they have no LID, and
     * nothing is known behind them. [first] stays, and so do those behind which something was read.
     */
    @Synchronized
    fun dropUnread(first: FoundNode) {
        val needed = HashSet<FoundNode>()
        for (node in nodes.values) {
            if (node !== first && node.managementPort?.info == null) continue
            // The path to a node leads through those by which it was found.
            generateSequence(node) { it.cameBy?.node }.takeWhile(needed::add).forEach { _ -> }
        }
        val unread = nodes.values.filterTo(HashSet()) { it !in needed }
        nodes.values.removeAll(unread)
        for (port in nodes.values.flatMap { it.ports.asList() }.filterNotNull()) {
            if (port.sees?.node in unread) port.sees = null
            if (port.seenBy?.node in unread) port.seenBy = null
        }
    }

    /** Changes a node or a port under the lock. */
    @Synchronized
    fun update(change: () -> Unit) = change()

    fun report(
        kind: SubnetProblemKind,
        port: FoundPort?,
        text: String,
    ) = report(kind, port?.node?.guid, port?.number, text)

    @Synchronized
    fun report(
        kind: SubnetProblemKind,
        node: Long?,
        port: Int?,
        text: String,
    ) {
        if (problems.size < MAX_PROBLEMS) {
            problems += SubnetProblem(kind, node?.let(::Guid), port, SafeText.of(text))
        } else {
            further++
        }
    }

    /** Returns the finished subnet, which began at [first]. */
    @Synchronized
    fun build(first: FoundPort): Subnet {
        val sorted = nodes.values.sortedBy { it.guid }
        for (node in sorted) node.ports.forEach { port -> port?.let(::compareEnds) }
        val all =
            if (further == 0) {
                problems.toList()
            } else {
                problems + SubnetProblem(SubnetProblemKind.LIMIT, null, null, "there are $further further problems")
            }
        return Subnet(FoundArrays(sorted).toData(first, all.sortedWith(inOrder)))
    }

    private fun compareEnds(port: FoundPort) {
        val sees = port.sees ?: return
        val seenBy = port.seenBy ?: return
        if (sees !== seenBy) {
            report(SubnetProblemKind.ASYMMETRIC_LINK, port, "the port leads to $sees, but $seenBy leads to it")
        }
    }

    private companion object {
        val inOrder = compareBy<SubnetProblem>({ it.kind }, { it.node?.value }, { it.port }, { it.text })
    }
}
