package org.kverbs.cli.devices

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.ProgramResult
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.RdmaException
import org.kverbs.cli.guidText
import org.kverbs.cli.text

/** `kverbs devices`: one line a device, in columns that are one word each, so that grep, awk and sort can read them. */
class DevicesCommand : CoreCliktCommand("devices") {
    override fun help(context: Context) =
        """
        List the RDMA devices, one a line.

        PORT_1 and the columns behind it tell of port 1. The GID is the one that is used unless another is asked for.
        """.trimIndent()

    override fun run() {
        val devices = Device.list()
        if (devices.isEmpty()) throw DeviceNotFoundException("any device", emptyList())
        val failures = mutableListOf<RdmaException>()
        val rows =
            devices.map { device ->
                identity(device) +
                    try {
                        firstPort(device)
                    } catch (e: RdmaException) {
                        failures += e
                        firstPortColumns.map { UNKNOWN }
                    }
            }
        echo(aligned(listOf(identityColumns + firstPortColumns) + rows))
        failures.forEach { echo("kverbs: ${it.message}", err = true) }
        if (failures.isNotEmpty()) throw ProgramResult(1)
    }

    private fun identity(device: Device): List<String> =
        listOf(
            device.name(),
            guidText(device.guid()),
            device.nodeType().toString(),
            device.transportType().text().replace(' ', '_'),
            device.provider(),
        )

    private fun firstPort(device: Device): List<String> =
        device.open().use { context ->
            val port = context.queryPort(1)
            val index = context.defaultGidIndex(1)
            val gid = context.queryGid(1, index)
            listOf(
                port.state().toString(),
                port.linkLayer().text(),
                if (gid.isZero) UNKNOWN else index.toString(),
                if (gid.isZero) UNKNOWN else gid.toCompactString(),
            )
        }

    private fun aligned(rows: List<List<String>>): String {
        val widths = rows.first().indices.map { column -> rows.maxOf { it[column].length } }
        return rows.joinToString("\n") { row ->
            row.mapIndexed { column, text -> text.padEnd(widths[column]) }.joinToString("  ").trimEnd()
        }
    }

    private companion object {
        const val UNKNOWN = "-"
        val identityColumns = listOf("NAME", "NODE_GUID", "NODE_TYPE", "TRANSPORT", "PROVIDER")
        val firstPortColumns = listOf("PORT_1", "LINK_LAYER", "GID_INDEX", "GID")
    }
}
