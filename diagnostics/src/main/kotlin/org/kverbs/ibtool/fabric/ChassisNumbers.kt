package org.kverbs.ibtool.fabric

import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/**
 * The chassis of a fabric as ibnetdiscover numbers them: the nodes that share a system image GUID. Boards of Mellanox's
 * IS4 switches have a slot, which their description names.
 */
internal class ChassisNumbers(
    order: DiscoveryOrder,
) {
    /** A chassis; [nodes] has those without a slot, the last one first. */
    class Group(
        val guid: Long,
        val number: Int,
    ) {
        val spines = sortedMapOf<Int, SubnetNode>()
        val lines = sortedMapOf<Int, SubnetNode>()
        val nodes = ArrayDeque<SubnetNode>()
    }

    private class Slot(
        val isLine: Boolean,
        val number: Int,
        val system: String,
        val chip: Int,
    )

    private val slots = order.switches.mapNotNull { node -> slot(node)?.let { node to it } }.toMap()
    private val groupOf = HashMap<SubnetNode, Group>()

    /** The groups of more than one node. */
    val groups: List<Group>

    init {
        val byGuid = order.nodes.filter { it.systemImageGuid.value != 0L }.groupBy(::guidOf)
        var number = 0
        groups =
            byGuid.filterValues { it.size > 1 }.map { (guid, nodes) -> Group(guid, ++number).also { fill(it, nodes) } }
    }

    private fun fill(
        group: Group,
        nodes: List<SubnetNode>,
    ) {
        for (node in nodes) {
            val slot = slots[node]
            if (slot == null) {
                group.nodes.addFirst(node)
            } else {
                val taken = (if (slot.isLine) group.lines else group.spines).putIfAbsent(slot.number, node)
                if (taken != null) continue
            }
            groupOf[node] = group
        }
    }

    /** The number of a node's chassis, or null. */
    fun of(node: SubnetNode): Int? = groupOf[node]?.number

    /** `IS5600 Line 3 Chip 1`, or nothing. */
    fun typeAndSlot(node: SubnetNode): String {
        val slot = slots[node]
        if (slot == null || node !in groupOf) return ""
        return "${slot.system} ${if (slot.isLine) "Line" else "Spine"} ${slot.number} Chip ${slot.chip}"
    }

    /** The number that is written at the chassis for a port, or null. */
    fun externalPort(port: SubnetPort): Int? =
        port.number.takeIf { slots[port.node]?.isLine == true && it in 1..EXTERNAL_PORTS }

    private fun guidOf(node: SubnetNode): Long {
        val guid = node.systemImageGuid.value
        return if (node.info.vendorID in ofTopspin) guid and TOPSPIN_MASK else guid
    }

    private fun slot(node: SubnetNode): Slot? {
        if (node.info.vendorID != MELLANOX || node.info.deviceID != IS4) return null
        val match = board.matchEntire(node.nodeDescription.nodeString) ?: return null
        val (system, kind, number, chip) = match.destructured
        val isLine = kind == "L"
        val slot = number.toInt()
        if (slot > (if (isLine) LINES else SPINES)) return null
        return Slot(isLine, slot, system.map { if (it in ' '..'~') it else ' ' }.joinToString(""), chip.toInt())
    }

    private companion object {
        private const val MELLANOX = 0x2c9
        private const val IS4 = 0xbd36
        private const val EXTERNAL_PORTS = 18
        private const val LINES = 37
        private const val SPINES = 19
        private const val TOPSPIN_MASK = -0xff000001L
        private val ofTopspin = setOf(0x5ad, 0x66a)

        /** `MF0;<system name>:<system type>/<L or S and slot>[:board]/U<chip>`. */
        private val board = Regex("MF0;[^:]*:([^/]{0,20})[^/]*/([LS])(\\d{1,3})[^/:]*(?::[^/]*)?/U(\\d{1,3}).*")
    }
}
