package org.kverbs.management.subnet

import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortPhysicalState

private fun hex(number: Long) = "0x${number.toULong().toString(16)}"

private fun digits(number: Long) = number.toULong().toString(16).padStart(16, '0')

/** One end of a link in the text of ibnetdiscover. */
internal data class PrintedLink(
    val node: String,
    val port: Int,
    val farNode: String,
    val farPort: Int,
    val rate: String,
)

/** A node in the text of ibnetdiscover. */
internal data class PrintedNode(
    val kind: String,
    val ports: Int,
    val guid: String,
    val name: String,
    val ids: Map<String, String>,
)

/** The text of ibnetdiscover as sets: the order of its lines does not matter. */
internal data class PrintedFabric(
    val nodes: Set<PrintedNode>,
    val links: Set<PrintedLink>,
)

private val head = Regex("(Switch|Ca|Rt)\\s+(\\d+) \"[SHR]-(\\p{XDigit}{16})\"\\s+# \"(.*?)\".*")
private val link = Regex("\\[(\\d+)](?:\\(\\p{XDigit}+\\))?\\s+\"[SHR]-(\\p{XDigit}{16})\"\\[(\\d+)].* (\\S+)")
private val id = Regex("(vendid|devid|sysimgguid)=(.*)")

/** Reads what ibnetdiscover prints. */
internal fun readFabric(text: String): PrintedFabric {
    val nodes = mutableSetOf<PrintedNode>()
    val links = mutableSetOf<PrintedLink>()
    val ids = mutableMapOf<String, String>()
    var last = ""
    for (line in text.lines().filterNot { it.startsWith("#") || it.isBlank() }) {
        id.matchEntire(line)?.destructured?.let { (key, value) -> ids[key] = value }
        head.matchEntire(line)?.destructured?.let { (kind, ports, guid, name) ->
            nodes += PrintedNode(kind, ports.toInt(), guid, name, ids.toMap())
            last = guid
        }
        link.matchEntire(line)?.destructured?.let { (port, far, farPort, rate) ->
            links += PrintedLink(last, port.toInt(), far, farPort.toInt(), rate)
        }
    }
    return PrintedFabric(nodes, links)
}

/** What ibnetdiscover must have printed of a subnet. */
internal fun Subnet.printed(): PrintedFabric =
    PrintedFabric(
        nodes
            .map { node ->
                val info = node.info
                val ids =
                    mapOf(
                        "vendid" to hex(info.vendorID.toLong()),
                        "devid" to hex(info.deviceID.toLong()),
                        "sysimgguid" to hex(info.systemImageGUID.value),
                    )
                PrintedNode(kindOf(node), node.portCount, digits(node.guid.value), node.name, ids)
            }.toSet(),
        ports
            .mapNotNull { port ->
                val far = port.peer ?: return@mapNotNull null
                val from = digits(port.node.guid.value)
                PrintedLink(from, port.number, digits(far.node.guid.value), far.number, "${port.rate}")
            }.toSet(),
    )

private fun kindOf(node: SubnetNode) =
    when (node.type) {
        NodeType.SWITCH -> "Switch"
        NodeType.CA -> "Ca"
        else -> "Rt"
    }

/** The lines that `ibnetdiscover -l` prints, sorted, with single spaces. */
internal fun Subnet.printedList(): List<String> =
    nodes
        .map { node ->
            val info = node.info
            val ids = "devid ${hex(info.deviceID.toLong())} vendid ${hex(info.vendorID.toLong())}"
            "${kindOf(node)} : 0x${digits(node.guid.value)} ports ${node.portCount} $ids \"${node.name}\""
        }.sorted()

/** The lines that `ibnetdiscover -p` prints, sorted, with single spaces. */
internal fun Subnet.printedPorts(): List<String> =
    ports
        .filter { it.number > 0 && (it.node.isSwitch || it.peer != null) }
        .map { port ->
            val rate = port.rate?.let { "${it.lanes}x ${it.speed}" }
            val far = port.peer
            if (far == null) {
                "${end(port, rate)} '${port.node.name}'"
            } else {
                "${end(port, rate)} - ${end(far, null)} ( '${port.node.name}' - '${far.node.name}' )"
            }
        }.sorted()

private fun end(
    port: SubnetPort,
    rate: String?,
): String {
    val kind = if (port.node.isSwitch) "SW" else "CA"
    val at = "$kind ${port.lid} ${port.number} 0x${digits(port.guid.value)}"
    return if (rate == null) at else "$at $rate"
}

/** Lines as the functions above make them. */
internal fun oneSpaced(text: String): List<String> =
    text
        .lines()
        .filter { it.isNotBlank() }
        .map { it.trim().replace(Regex("\\s+"), " ") }
        .sorted()

/** Whether a port has a signal from the other end. */
internal val SubnetPort.isLinkUp get() = physicalState == PortPhysicalState.LINK_UP
