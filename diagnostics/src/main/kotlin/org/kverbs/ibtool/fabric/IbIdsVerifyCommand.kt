package org.kverbs.ibtool.fabric

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.SubnetProblemKind

/** `ibidsverify`: LIDs and GUIDs that are zero, or that several ports have. */
internal class IbIdsVerifyCommand : DiscoveringCommand("ibidsverify", "DGKLsRev") {
    @Suppress("unused") // Each run looks at the fabric anew.
    private val isFresh by option("-R", help = "Does nothing: each run looks at the fabric").flag()

    override fun help(context: Context) =
        "Check the LIDs and GUIDs of the fabric. The exit status is 1 if one is zero, or is there twice."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibidsverify
          ibtool ibidsverify --fabric fat-tree:4
        """.trimIndent()

    private val findings = ArrayList<String>()
    private val lids = HashMap<Int, SubnetNode>()
    private val portGuids = HashMap<Long, Int>()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session)
        val order = DiscoveryOrder(subnet)
        val nodes = order.switches + order.hosts + order.routers
        val nodeGuids = nodes.map { it.guid.value }.toSet()
        for (node in nodes) {
            val ports = if (node.isSwitch) listOfNotNull(node.port(0)) else node.ports.filter { it.peer != null }
            ports.forEach { check(it, nodeGuids) }
        }
        for (problem in subnet.problems.filter { it.kind == SubnetProblemKind.DUPLICATE_GUID }) {
            findings += "NodeGUID 0x${hex(problem.node?.value ?: 0)} already defined: ${problem.text}"
        }
        if (options.json) print(JsonArray(findings.map(::JsonPrimitive))) else findings.forEach { line(it) }
        if (findings.isNotEmpty()) throw ProgramResult(1)
    }

    private fun check(
        port: SubnetPort,
        nodeGuids: Set<Long>,
    ) {
        val node = port.node
        val lid = port.lid.value
        val kind = SubnetJson.type(node)
        val guid = port.guid.value
        if (lid == 0) findings += "LID 0 found for $kind NodeGUID 0x${hex(node.guid.value)}"
        lids.putIfAbsent(lid, node)?.let {
            if (lid != 0) findings += "LID $lid already defined for NodeGUID 0x${hex(it.guid.value)}"
        }
        if (guid == 0L) {
            findings += "$kind GUID 0x0 found with LID $lid"
            return
        }
        portGuids.putIfAbsent(guid, lid)?.let { findings += "PortGUID 0x${hex(guid)} already defined for LID $it" }
        if (guid != node.guid.value && guid in nodeGuids) {
            findings += "PortGUID 0x${hex(guid)} is an invalid duplicate of a NodeGUID"
        }
    }
}
