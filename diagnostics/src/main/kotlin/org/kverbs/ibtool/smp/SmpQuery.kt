package org.kverbs.ibtool.smp

import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Dotted
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortCapabilityMask2
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoExtended
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.structures.toJson

/** Asks a node for one attribute, and prints it as `smpquery` does. */
internal class SmpQuery(
    val session: Session,
    val target: Target,
    val port: Int,
    private val isExtended: Boolean,
) {
    suspend fun node(): NodeInfo = session.get(target.path)

    suspend fun nodeInfo(): SmpAnswer {
        val info = node()
        return SmpAnswer("# Node info: $target\n${Dotted(info).text(Dotted(info).names)}", info.toJson())
    }

    suspend fun nodeDescription(): SmpAnswer {
        val guid = node().nodeGUID
        val name = session.names.of(guid, session.get<NodeDescription>(target.path))
        val dots = if (name.length < NAME_DOTS) ".".repeat(NAME_DOTS - name.length) else "."
        return SmpAnswer("Node Description:$dots$name\n", JsonPrimitive(name))
    }

    suspend fun portInfo(): SmpAnswer {
        val modifier = if (isExtended) port or (1 shl 31) else port
        val info = session.get<PortInfo>(target.path, modifier)
        return SmpAnswer(
            "# Port info: $target port $port\n${PortInfoText.of(info, session.options.showsKeys)}",
            JsonObject(info.toJson().filterKeys { session.options.showsKeys || it != "mKey" }),
        )
    }

    suspend fun portInfoExtended(): SmpAnswer {
        requireExtended()
        val info = session.get<PortInfoExtended>(target.path, port)
        val text = Dotted(info)
        return SmpAnswer("# Port info Extended: $target port $port\n${text.text(text.names)}", info.toJson())
    }

    private suspend fun requireExtended() {
        val isSwitch = node().nodeType == NodeType.SWITCH
        val info = session.get<PortInfo>(target.path, if (isSwitch) 0 else port)
        val isThere =
            PortCapabilityMask.IsCapabilityMask2Supported in info.capabilityMask &&
                PortCapabilityMask2.IsPortInfoExtendedSupported in info.capabilityMask2
        if (!isThere) throw DiagnosticException("operation PortInfoExtended: port info extended not supported")
    }

    suspend fun switchInfo(): SmpAnswer {
        val info = session.get<SwitchInfo>(target.path)
        val text = Dotted(info)
        return SmpAnswer("# Switch info: $target\n${text.text(text.names)}", info.toJson())
    }

    suspend fun mlnxExtPortInfo(): SmpAnswer {
        val info = session.get<MlnxExtPortInfo>(target.path, port)
        val text = Dotted(info)
        return SmpAnswer("# MLNX ext Port info: $target port $port\n${text.text(text.names)}", info.toJson())
    }

    private companion object {
        private const val NAME_DOTS = 32
    }
}
