package org.kverbs.management.simulation

/** The subnet as the last sweep left it. */
internal class Subnet(
    private val network: Network,
    private val byLid: IntArray,
    private val manager: Int,
) {
    /** The end port that has this LID, or null. */
    fun port(lid: Int): Int? = byLid.getOrNull(lid)?.takeIf { it != Topology.NONE }

    /** All end ports with a LID, by LID. */
    fun ports(): List<Int> = byLid.filter { it != Topology.NONE }

    /** The nodes of the subnet, each once. */
    fun nodes(): List<Int> = ports().map(network.topology::nodeOf).distinct()

    /** The LID of the manager. */
    val managerLid: Int get() = network.lid(network.endPort(manager))
}
