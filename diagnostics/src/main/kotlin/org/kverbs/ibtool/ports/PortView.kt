package org.kverbs.ibtool.ports

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.Mellanox
import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.smp.PortInfoText
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.toJson

/**
 * A port as `ibportstate` shows it.
 *
 * @property path the way to its node
 * @property address the way in the form of infiniband-diags
 * @property number the number of the port
 * @property extended Mellanox's own attribute of it, or null if its node has none
 */
internal class PortView(
    val path: MadPath,
    val address: String,
    val node: NodeInfo,
    val number: Int,
    val info: PortInfo,
    val extended: MlnxExtPortInfo?,
    private val capabilities: PortInfo,
) {
    val isSwitch: Boolean get() = node.nodeType == NodeType.SWITCH

    /** Whether the port can have extended speeds. */
    val hasExtendedSpeeds: Boolean
        get() = PortCapabilityMask.IsExtendedSpeedsSupported in capabilities.capabilityMask

    private val hasNewestSpeeds: Boolean
        get() = LinkSpeedExt2.XDR in info.linkSpeedExtSupported2

    /** The modifier of its PortInfo that says that extended speeds are known here. */
    val modifier: Int get() = if (hasExtendedSpeeds) number or (1 shl 31) else number

    /** The same port with other values. */
    fun with(
        info: PortInfo = this.info,
        extended: MlnxExtPortInfo? = this.extended,
    ): PortView = PortView(path, address, node, number, info, extended, capabilities)

    /** The lines of PortInfo. */
    fun text(showsKeys: Boolean): String {
        val rows =
            STATES + (if (hasExtendedSpeeds) EXTENDED else emptyList()) +
                (if (hasNewestSpeeds) NEWEST else emptyList()) + (if (!isSwitch || number == 0) KEY else emptyList())
        return "# Port info: $address port $number\n" + PortInfoText.rows(info, rows, showsKeys)
    }

    /** The lines of Mellanox's attribute. */
    fun extendedText(): String =
        extended
            ?.let {
                "# MLNX ext Port info: $address port $number\n${Dotted(it).without()}"
            }.orEmpty()

    fun json(showsKeys: Boolean): JsonObject =
        buildJsonObject {
            put("type", if (isSwitch) "switch" else "ca or router")
            put("port", number)
            put("portInfo", JsonObject(info.toJson().filterKeys { showsKeys || it != "mKey" }))
            extended?.let { put("mlnxExtPortInfo", it.toJson()) }
        }

    companion object {
        private val STATES =
            listOf("LinkState", "PhysLinkState", "Lid", "SMLid", "LMC", "LinkWidthSupported", "LinkWidthEnabled") +
                listOf("LinkWidthActive", "LinkSpeedSupported", "LinkSpeedEnabled", "LinkSpeedActive")
        private val EXTENDED = listOf("LinkSpeedExtSupported", "LinkSpeedExtEnabled", "LinkSpeedExtActive")
        private val NEWEST = listOf("LinkSpeedExtSupported2", "LinkSpeedExtEnabled2", "LinkSpeedExtActive2")
        private val KEY = listOf("Mkey", "MkeyLeasePeriod", "ProtectBits")

        /** Asks a node for one of its ports. */
        suspend fun of(
            session: Session,
            path: MadPath,
            address: String,
            node: NodeInfo,
            number: Int,
        ): PortView {
            val fabric = session.fabric
            val isSwitch = node.nodeType == NodeType.SWITCH
            val ofSwitch = if (isSwitch) fabric.get<PortInfo>(path) else null
            val info = fabric.get<PortInfo>(path, number)
            val extended =
                if (Mellanox.hasExtendedPortInfo(node)) fabric.get<MlnxExtPortInfo>(path, number) else null
            return PortView(path, address, node, number, info, extended, ofSwitch ?: info)
        }
    }
}
