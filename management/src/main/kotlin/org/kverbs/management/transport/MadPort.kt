package org.kverbs.management.transport

import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo

/**
 * What a transport knows of its own port.
 *
 * @property name the name of the device or node that has the port
 * @property node what the node is
 * @property info the state of the port, its LID among it
 */
public class MadPort(
    public val name: String,
    public val node: NodeInfo,
    public val info: PortInfo,
) {
    /** Returns name, GUID, LID and state in one line. */
    override fun toString(): String = "$name ${node.portGUID} LID ${info.lid} ${info.portState}"
}
