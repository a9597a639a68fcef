package org.kverbs.ibtool.local

import org.kverbs.attributes.Gid
import org.kverbs.ibtool.session.IbsimPreload
import org.kverbs.ibtool.session.Session
import org.kverbs.management.port.EndPort
import org.kverbs.management.port.endPorts
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState

private const val UNKNOWN = "unknown"

/** A port of this machine as `ibstatus` shows it. What the kernel does not tell is unknown. */
internal class PortStatus private constructor(
    val device: String,
    val number: Int,
    private val gid: Gid?,
    private val lid: Int?,
    private val subnetManagerLid: Int?,
    private val state: PortState?,
    private val physicalState: PortPhysicalState?,
    private val rate: String?,
    private val linkLayer: String,
) {
    /** The values by their names in JSON. */
    val fields: Map<String, String>
        get() =
            mapOf(
                "device" to device,
                "port" to "$number",
                "defaultGid" to (gid?.let(::digits) ?: UNKNOWN),
                "baseLid" to (lid?.let { "0x${it.toString(16)}" } ?: UNKNOWN),
                "subnetManagerLid" to (subnetManagerLid?.let { "0x${it.toString(16)}" } ?: UNKNOWN),
                "state" to (state?.let { "${it.value}: ${states.getOrElse(it.value) { "<unknown>" }}" } ?: UNKNOWN),
                "physicalState" to
                    (
                        physicalState?.let { "${it.value}: ${physicalStates.getOrElse(it.value) { "<unknown>" }}" }
                            ?: UNKNOWN
                    ),
                "rate" to (rate ?: UNKNOWN),
                "linkLayer" to linkLayer,
            )

    /** The lines of infiniband-diags. */
    fun text(): String {
        val shown = fields
        return "Infiniband device '$device' port $number status:\n" +
            titles.entries.joinToString("") { (name, title) -> "\t$title ${shown[name]}\n" } + "\n"
    }

    /** All 32 digits, as the kernel prints them. */
    private fun digits(gid: Gid) =
        gid.bytes().toList().chunked(2).joinToString(":") { (high, low) -> high.toHexString() + low.toHexString() }

    companion object {
        private val titles =
            mapOf(
                "defaultGid" to "default gid:\t",
                "baseLid" to "base lid:\t",
                "subnetManagerLid" to "sm lid:\t\t",
                "state" to "state:\t\t",
                "physicalState" to "phys state:\t",
                "rate" to "rate:\t\t",
                "linkLayer" to "link_layer:\t",
            )
        private val states = listOf("NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER")
        private val physicalStates =
            listOf(
                "",
                "Sleep",
                "Polling",
                "Disabled",
                "PortConfigurationTraining",
                "LinkUp",
                "LinkErrorRecovery",
                "Phy Test",
            )

        /** All ports of this machine, or the one of a simulated fabric. */
        fun all(session: Session): List<PortStatus> {
            if (session.simulation != null) return listOf(simulated(session))
            IbsimPreload.prepare()
            return endPorts().map(::of)
        }

        private fun of(port: EndPort) =
            PortStatus(
                port.device,
                port.number,
                port.defaultGid,
                port.lid?.value ?: 0,
                port.subnetManagerLid?.value ?: 0,
                port.state,
                port.physicalState,
                port.rate,
                port.linkLayer ?: "IB",
            )

        private fun simulated(session: Session): PortStatus {
            val port = session.fabric.port()
            return PortStatus(
                port.name,
                port.node.localPortNum,
                Gid(port.info.gidPrefix, port.node.portGUID.value),
                port.info.lid.value,
                port.info.masterSMLID.value,
                port.info.portState,
                port.info.portPhysicalState,
                "${LocalPort.of(port).rate} Gb/sec",
                "InfiniBand",
            )
        }
    }
}
