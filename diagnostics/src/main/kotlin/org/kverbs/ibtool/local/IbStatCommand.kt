package org.kverbs.ibtool.local

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.add
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.fabric.SubnetJson
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable

/** `ibstat`: the adapters of this machine. */
internal class IbStatCommand : DiagnosticCommand("ibstat", "DeGKLPsty") {
    private val lists by option("--list_of_cas", "-l", help = "List the adapters").flag()
    private val isShort by option("--short", "-s", help = "Leave out the ports").flag()
    private val listsPorts by option("--port_list", "-p", help = "List the GUIDs of the ports").flag()
    private val device by argument("ca_name", help = "The adapter; all without it").optional()
    private val port by argument("portnum", help = "The port; all without it").convert { portNumber(it) }.optional()

    override fun help(context: Context) = "Show the adapters of this machine and their ports."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibstat
          ibtool ibstat mlx5_0 1
          ibtool ibstat --json | jq -r '.[].ports[].state'
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val all = LocalDevice.all(session)
        val chosen = if (device == null) all else all.filter { it.name == device }
        if (chosen.isEmpty()) throw nothing()
        for (it in chosen) {
            if (!options.json) print(it)
        }
        if (options.json) print(json(chosen))
    }

    private fun nothing(): Exception {
        val name = device ?: return DiagnosticException(NOTHING)
        return DiagnosticException("'${printable(name)}' IB device can't be found")
    }

    private fun print(device: LocalDevice) {
        val number = port
        when {
            listsPorts -> device.ports.filter { it.guid != 0L }.forEach { line("0x${hex16(it.guid)}") }
            lists -> line(device.name)
            number != null && !isShort -> port(device, number)
            else -> whole(device)
        }
    }

    private fun port(
        device: LocalDevice,
        number: Int,
    ) {
        val port = found(device, number)
        line("${name(nodeTypes, device.nodeType)}: '${device.name}'")
        print(text(port, "", ""))
    }

    private fun found(
        device: LocalDevice,
        number: Int,
    ): LocalPort =
        device.ports.firstOrNull { it.number == number }
            ?: throw DiagnosticException(
                "${name(nodeTypes, device.nodeType)}: '${device.name}' has no port number $number - " +
                    "max (${device.portCount})",
            )

    private fun whole(device: LocalDevice) {
        val type = name(nodeTypes, device.nodeType)
        line("$type '${device.name}'")
        line("\t$type type: ${device.type}")
        line("\tNumber of ports: ${device.portCount}")
        line("\tFirmware version: ${device.firmware}")
        line("\tHardware version: ${device.hardware}")
        line("\tNode GUID: 0x${hex16(device.guid)}")
        line("\tSystem image GUID: 0x${hex16(device.systemImageGuid)}")
        if (!isShort) device.ports.forEach { print(text(it, "\t", "\t\t")) }
    }

    private fun text(
        port: LocalPort,
        head: String,
        indent: String,
    ): String =
        "${head}Port ${port.number}:\n" +
            listOf(
                "State: ${name(states, port.state)}",
                "Physical state: ${name(physicalStates, port.physicalState)}",
                "Rate: ${port.rate}",
                "Base lid: ${port.lid}",
                "LMC: ${port.lmc}",
                "SM lid: ${port.subnetManagerLid}",
                "Capability mask: 0x${port.capabilityMask.toHexString()}",
                "Port GUID: 0x${hex16(port.guid)}",
                "Link layer: ${port.linkLayer}",
            ).joinToString("") { "$indent$it\n" }

    private fun json(devices: List<LocalDevice>) =
        buildJsonArray {
            for (device in devices) {
                when {
                    listsPorts -> device.ports.filter { it.guid != 0L }.forEach { add(SubnetJson.guid(it.guid)) }
                    lists -> add(device.name)
                    else -> add(json(device))
                }
            }
        }

    private fun shownPorts(device: LocalDevice): List<LocalPort> =
        port?.let { listOf(found(device, it)) } ?: device.ports

    private fun json(device: LocalDevice): JsonObject =
        buildJsonObject {
            put("name", device.name)
            put("type", name(nodeTypes, device.nodeType))
            put("deviceType", device.type)
            put("firmware", device.firmware)
            put("hardware", device.hardware)
            put("guid", SubnetJson.guid(device.guid))
            put("systemImageGuid", SubnetJson.guid(device.systemImageGuid))
            if (isShort) return@buildJsonObject
            putJsonArray("ports") {
                for (port in shownPorts(device)) {
                    addJsonObject {
                        put("number", port.number)
                        put("guid", SubnetJson.guid(port.guid))
                        put("state", name(states, port.state))
                        put("physicalState", name(physicalStates, port.physicalState))
                        put("rate", port.rate)
                        put("lid", port.lid)
                        put("lmc", port.lmc)
                        put("subnetManagerLid", port.subnetManagerLid)
                        put("capabilityMask", "0x${port.capabilityMask.toHexString()}")
                        put("linkLayer", port.linkLayer)
                    }
                }
            }
        }

    companion object {
        /** Says that there is nothing to show. */
        const val NOTHING =
            "this machine has no InfiniBand device; try --fabric fat-tree:4, which simulates a fabric"
        private val nodeTypes = listOf("???", "CA", "Switch", "Router", "iWARP RNIC")
        private val states = listOf("???", "Down", "Initializing", "Armed", "Active")
        private val physicalStates =
            listOf("No state change", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp") +
                listOf("LinkErrorRecovery", "PhyTest")

        private fun name(
            names: List<String>,
            number: Int,
        ): String = names.getOrElse(number) { "???" }
    }
}
