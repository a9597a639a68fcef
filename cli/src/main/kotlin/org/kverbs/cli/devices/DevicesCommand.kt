package org.kverbs.cli.devices

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.core.terminal
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.RdmaException
import org.kverbs.cli.prettyJson

/**
 * `kverbs devices`: one line a device. Columns are one word each, so that grep, awk and sort can read them; on a
 * terminal they are a coloured table.
 */
class DevicesCommand : CoreCliktCommand("devices") {
    private val json by option("--json", help = "Print JSON").flag()

    override fun help(context: Context) =
        """
        List the RDMA devices.

        PORT_1 and the columns behind it tell of port 1. The GID is the one that is used unless another is asked for.
        A terminal that is too narrow for all columns shows the most important ones.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs devices
          kverbs devices --json | jq -r '.[].name'
        """.trimIndent()

    override fun run() {
        val devices = Device.list()
        if (devices.isEmpty()) throw DeviceNotFoundException("any device", emptyList())
        val failures = mutableListOf<RdmaException>()
        val rows =
            devices.map { device ->
                val port =
                    try {
                        PortRow.of(device)
                    } catch (e: RdmaException) {
                        failures += e
                        null
                    }
                DeviceRow.of(device, port)
            }
        val terminal = currentContext.terminal
        when {
            json -> echo(prettyJson.encodeToString(rows))
            terminal.terminalInfo.outputInteractive -> terminal.println(devicesTable(rows, terminal.size.width))
            else -> echo(aligned(listOf(DeviceRow.columns) + rows.map { it.cells() }))
        }
        failures.forEach { echo("kverbs: ${it.message}", err = true) }
        if (failures.isNotEmpty()) throw ProgramResult(1)
    }

    private fun aligned(rows: List<List<String>>): String {
        val widths = rows.first().indices.map { column -> rows.maxOf { it[column].length } }
        return rows.joinToString("\n") { row ->
            row.mapIndexed { column, text -> text.padEnd(widths[column]) }.joinToString("  ").trimEnd()
        }
    }
}
