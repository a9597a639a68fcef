package org.kverbs.management.subnet

import org.kverbs.structures.Lid

private const val LIDS = 0xc000

/** How many entries a fabric costs in which all ports claim all LIDs. */
private const val MAX_SHARED = 100_000

/** The ports by their LIDs. */
internal class LidIndex(
    private val subnet: Subnet,
) {
    private val ports = IntArray(LIDS) { NONE }
    private var room = MAX_SHARED
    private val shared = sortedMapOf<Int, MutableList<Int>>()

    init {
        for (port in subnet.ports) {
            val isAddressed = if (port.node.isSwitch) port.number == 0 else true
            if (isAddressed && port.lid.isUnicast) enter(port)
        }
    }

    private fun enter(port: SubnetPort) {
        val first = port.lid.value
        val last = minOf(first + (1 shl port.lmc), LIDS) - 1
        for (lid in first..last) {
            if (ports[lid] == NONE) {
                ports[lid] = port.index
            } else if (room > 0) {
                room--
                shared.getOrPut(lid) { mutableListOf(ports[lid]) } += port.index
            }
        }
    }

    fun port(lid: Lid): Int? = if (lid.isUnicast) ports[lid.value].takeIf { it != NONE } else null

    fun duplicates(): Map<Lid, List<SubnetPort>> =
        shared.entries.associate { (lid, indexes) -> Lid(lid) to indexes.map { SubnetPort(subnet, it) } }
}
