package org.kverbs.cli.devinfo

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.types.int
import com.github.ajalt.clikt.parameters.types.restrictTo
import org.kverbs.Device
import org.kverbs.DeviceNotFoundException
import org.kverbs.cli.deviceOption

/**
 * `kverbs devinfo`: what a device is and can do, in the fields, the order and the units of ibv_devinfo(1) of rdma-core
 * 44.
 */
class DevInfoCommand : CoreCliktCommand("devinfo") {
    private val name by deviceOption("Only this device (all, if left out)")
    private val port by option(
        "-i",
        "--ib-port",
        metavar = "PORT",
        help = "Only this port of it, from 1 (all, if left out)",
    ).int()
        .restrictTo(min = 1)
    private val list by option("-l", "--list", help = "Only the names of the devices").flag()
    private val verbose by option("-v", "--verbose", help = "Everything that the device says about itself").flag()

    override fun help(context: Context) =
        "Show what the RDMA devices are and can do, field by field as ibv_devinfo does."

    override fun run() {
        val devices = name?.let { listOf(Device.byName(it)) } ?: Device.list()
        if (devices.isEmpty()) throw DeviceNotFoundException("any device", emptyList())
        if (list) {
            echo("${devices.size} HCA${if (devices.size == 1) "" else "s"} found:")
            devices.forEach { echo("\t${it.name()}") }
            echo()
        } else {
            devices.forEach { echo(describe(it)) }
        }
    }

    private fun describe(device: Device): String =
        device.open().use { context ->
            val attributes = context.queryDeviceEx()
            val portCount = attributes.physPortCntEx().takeIf { it != 0 } ?: attributes.original().physPortCnt()
            val ports = port?.let(::listOf) ?: (1..portCount).toList()
            ports.find { it > portCount }?.let {
                throw UsageError("${device.name()} has ports 1 to $portCount, not $it", "--ib-port")
            }
            val text = InfoText()
            text.identity(device, attributes.original(), portCount)
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
            text.toString()
        }
}
