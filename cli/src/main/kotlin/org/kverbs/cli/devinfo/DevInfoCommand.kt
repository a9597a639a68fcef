package org.kverbs.cli.devinfo

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.types.int
import com.github.ajalt.clikt.parameters.types.restrictTo
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.cli.deviceOption
import org.kverbs.cli.prettyJson
import org.kverbs.cli.wrong

/** `kverbs devinfo`: what a device is and can do, in the fields, order and units of ibv_devinfo(1) of rdma-core 44. */
class DevInfoCommand : CoreCliktCommand("devinfo") {
    private val name by deviceOption("Only this device (all, if left out)")
    private val port by option("-i", "--ib-port", metavar = "PORT", help = "Only this port, from 1 (all, if left out)")
        .int()
        .restrictTo(min = 1)
    private val list by option("-l", "--list", help = "Only the names of the devices").flag()
    private val verbose by option("-v", "--verbose", help = "Everything that the device says about itself").flag()
    private val json by option("--json", help = "Print JSON: with -v and without it the same").flag()

    override fun help(context: Context) = "Show what the devices are and can do, in the fields of ibv_devinfo."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          kverbs devinfo
          kverbs devinfo -v -d embedded0
          kverbs devinfo --json | jq '.[].limits.maxQueuePairs'
        """.trimIndent()

    override fun run() {
        val devices = name?.let { listOf(Device.byName(it)) } ?: Device.list()
        if (devices.isEmpty()) throw DeviceNotFoundException("any device", emptyList())
        when {
            list && json -> {
                echo(prettyJson.encodeToString(devices.map { it.name() }))
            }

            list -> {
                echo("${devices.size} HCA${if (devices.size == 1) "" else "s"} found:")
                devices.forEach { echo("\t${it.name()}") }
                echo()
            }

            json -> {
                echo(prettyJson.encodeToString(devices.map { open(it, DeviceDescription::of) }))
            }

            else -> {
                devices.forEach { echo(open(it, ::describe)) }
            }
        }
    }

    /** Gives the opened device and the numbers of the ports to show to [block]. */
    private fun <T> open(
        device: Device,
        block: (org.kverbs.Context, ports: List<Int>) -> T,
    ): T =
        device.open().use { context ->
            val portCount = context.queryDeviceEx().portCount
            val ports = port?.let(::listOf) ?: (1..portCount).toList()
            ports.find { it > portCount }?.let {
                wrong("--ib-port", "${device.name()} has ports 1 to $portCount, not $it")
            }
            block(context, ports)
        }

    private fun describe(
        context: org.kverbs.Context,
        ports: List<Int>,
    ): String {
        val device = context.device()
        val attributes = context.queryDeviceEx()
        val text = InfoText()
        text.identity(device, attributes)
        if (verbose) {
            text.limits(attributes.original())
            text.extensions(attributes)
            text.field("num_comp_vectors", context.completionVectors())
        }
        for (number in ports) {
            val port = context.queryPort(number)
            text.port(number, port)
            if (verbose) {
                text.portDetails(port, device.transportType())
                text.gids(port, context.queryGidTable().filter { it.port() == number })
            }
        }
        return text.toString()
    }
}
