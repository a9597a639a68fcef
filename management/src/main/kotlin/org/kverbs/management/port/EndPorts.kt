package org.kverbs.management.port

import org.kverbs.attributes.Gid
import org.kverbs.structures.Guid

private const val LINK_LOCAL = 0xfe80L shl 48
private const val MAX_LENGTH = 100
private val guids = Regex("\\p{XDigit}{1,4}(:\\p{XDigit}{1,4}){3}|(0x)?\\p{XDigit}{16}")
private val names = Regex("([\\w.-]{1,64})(?:/(\\d{1,3}))?")

/** Returns the ports of all RDMA devices of this machine, in the order of their names; none where there is no RDMA. */
public fun endPorts(): List<EndPort> {
    val devices = Sysfs.devices()
    return devices.names().flatMap { device ->
        devices
            .folder(device)
            .folder("ports")
            .names()
            .mapNotNull(String::toIntOrNull)
            .map { EndPort(device, it) }
    }
}

/**
 * Finds a port of this machine by one of these:
 *
 * - null: the first port of the first device
 * - a GID such as `fe80::2:c903:0:1492`. With the prefix fe80::/64 it names the port by its GUID; any other is looked
 * up
 *   in all GID tables
 * - a port GUID, as four groups such as `0002:c903:0000:1492` or as 16 digits
 * - a device such as `mlx5_0`, for its first port, or `mlx5_0/2`
 *
 * The text need not be trusted.
 *
 * @throws EndPortNotFoundException if this machine has no such port; the message names what was looked for
 * @throws IllegalArgumentException if [text] is none of these
 */
public fun endPort(text: String? = null): EndPort {
    if (text == null) return endPorts().firstOrNull() ?: throw noDevices()
    require(text.length <= MAX_LENGTH) { "an end port has at most $MAX_LENGTH characters, not ${text.length}" }
    val named = names.matchEntire(text)
    return when {
        guids.matches(text) -> byGuid(Guid.parse(text), text)
        ':' in text -> byGid(text)
        named != null -> byName(named.groupValues[1], named.groupValues[2])
        else -> throw invalid(text)
    }
}

private fun byGid(text: String): EndPort {
    val gid =
        try {
            Gid.parse(text)
        } catch (e: IllegalArgumentException) {
            throw IllegalArgumentException(invalid(text).message, e)
        }
    if (gid.subnetPrefix() != LINK_LOCAL) {
        return endPorts().firstOrNull { gid in it.gids.values } ?: throw notFound(text)
    }
    require(gid.interfaceId() != 0L) { "$text names no port: the GID has no GUID in its low half" }
    return byGuid(Guid(gid.interfaceId()), text)
}

private fun byGuid(
    guid: Guid,
    text: String,
) = endPorts().firstOrNull { it.portGuid == guid } ?: throw notFound(text)

private fun byName(
    device: String,
    port: String,
): EndPort {
    val ports = endPorts()
    if (ports.isEmpty()) throw noDevices()
    val ofDevice = ports.filter { it.device == device }
    val devices = ports.map { it.device }.distinct().joinToString()
    if (ofDevice.isEmpty()) throw EndPortNotFoundException("device $device not found; there are $devices")
    if (port.isEmpty()) return ofDevice.first()
    return ofDevice.firstOrNull { it.number == port.toInt() }
        ?: throw EndPortNotFoundException(
            "device $device has no port $port; it has ${ofDevice.joinToString { "${it.number}" }}",
        )
}

private fun noDevices() =
    EndPortNotFoundException(
        "no RDMA devices: /sys/class/infiniband is empty; see that the adapter's driver is loaded, with `rdma link`",
    )

private fun notFound(text: String) =
    EndPortNotFoundException("end port $text not found; there are ${endPorts().joinToString().ifEmpty { "none" }}")

private fun invalid(text: String): IllegalArgumentException {
    val shown = text.map { if (it.isISOControl()) '?' else it }.joinToString("")
    return IllegalArgumentException(
        "\"$shown\" is not an end port: give a device such as mlx5_0, a port such as mlx5_0/1, a port GUID or a GID",
    )
}
