package org.kverbs.management.subnet

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType

/** A node while the discovery runs. The lock of its [FoundSubnet] guards it. */
internal class FoundNode(
    val info: NodeInfo,
    /** The port by which the node before was left; null for the first node. */
    val cameBy: FoundPort?,
    /** The number of the port at which the first answer came in. */
    val arrival: Int,
) {
    val guid: Long = info.nodeGUID.value
    val isSwitch: Boolean = info.nodeType == NodeType.SWITCH
    val ports: Array<FoundPort?> = arrayOfNulls(info.numPorts + 1)

    /** The port that was asked first. */
    val managementPort: FoundPort? get() = ports[if (isSwitch) 0 else arrival]
    var description: ByteArray? = null
    var switchInfo: ByteArray? = null

    /** How many links are between the first node and this. */
    val distance: Int = if (cameBy == null) 0 else cameBy.node.distance + 1

    /** Its place in the arrays of the finished subnet. */
    var index: Int = NONE

    fun path(): DirectedPath {
        val hops = IntArray(distance + 1)
        var at = this
        for (hop in distance downTo 1) {
            val port = checkNotNull(at.cameBy)
            hops[hop] = port.number
            at = port.node
        }
        return DirectedPath(hops.asList())
    }

    /** What an answer must repeat, if it is from the same node. */
    fun isLike(other: NodeInfo): Boolean =
        other.nodeType == info.nodeType && other.numPorts == info.numPorts && other.vendorID == info.vendorID &&
            other.deviceID == info.deviceID && other.systemImageGUID == info.systemImageGUID
}

/** A port while the discovery runs. */
internal class FoundPort(
    val node: FoundNode,
    val number: Int,
    /** The port before this one on the path by which it was found. */
    private val cameBy: FoundPort?,
) {
    var guid: Long = 0
    var info: ByteArray? = null
    var extended: ByteArray? = null
    var flags: Int = 0

    /** The port that answered by way of this one. */
    var sees: FoundPort? = null

    /** The first port by way of which this one answered. */
    var seenBy: FoundPort? = null
    var index: Int = NONE

    /** The path to ask for the port: a switch answers for all of its ports, an adapter for the one that is asked. */
    fun path(): DirectedPath = if (node.isSwitch || cameBy == null) node.path() else cameBy.node.path() + cameBy.number

    override fun toString(): String = "${node.info.nodeGUID} port $number"
}
