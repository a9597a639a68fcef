package org.kverbs.samples

import org.kverbs.Context
import org.kverbs.RdmaException
import org.kverbs.dsl.openDevice
import java.net.Inet4Address
import java.net.InetAddress
import java.net.NetworkInterface
import java.nio.file.Path
import kotlin.io.path.Path
import kotlin.io.path.exists
import kotlin.io.path.listDirectoryEntries
import kotlin.io.path.name
import kotlin.io.path.readText

/**
 * The IP address that connections to a device of this name go by: its GID on the embedded device and with RoCE, and
 * otherwise, as with iWARP, whose GID is a MAC address, one of its network interface.
 *
 * @throws RdmaException if it has none; the message says what to do
 */
fun ipAddressOf(device: String): InetAddress = openDevice(device).use { ipAddressOf(it) }

private fun ipAddressOf(device: Context): InetAddress {
    val gid = device.queryGid(1, device.defaultGidIndex(1)).bytes()
    val address = InetAddress.getByAddress(gid) // an IPv4 address in its IPv6 form comes out as itself
    val name = device.device().name()
    if (device.device().provider() == "embedded" || isReachable(address)) return address
    return addressOf(name, interfacesOf(Path("/sys/class/infiniband/$name"), gid))
}

private fun isReachable(address: InetAddress) =
    !address.isLinkLocalAddress && NetworkInterface.getByInetAddress(address) != null

/**
 * The network interfaces that a device of Linux is known to sit on, the surest first; soft-iWARP's, under Linux 6.1, by
 * its MAC address alone.
 */
private fun interfacesOf(
    device: Path,
    gid: ByteArray,
): List<NetworkInterface> {
    val ofPort = device.resolve("ports/1/gid_attrs/ndevs/0")
    val ofParent = device.resolve("device/net")
    val names =
        listOfNotNull(runCatching { ofPort.readText().trim() }.getOrNull()) + // EINVAL where the device knows none
            if (ofParent.exists()) ofParent.listDirectoryEntries().map { it.name } else emptyList()
    val mac = gid.copyOf(MAC_BYTES)
    return names.mapNotNull { NetworkInterface.getByName(it) } +
        NetworkInterface.networkInterfaces().filter { mac.contentEquals(it.hardwareAddress) }.toList()
}

/** The first address of these that others can connect to, IPv4 if there is one. */
internal fun addressOf(
    device: String,
    interfaces: List<NetworkInterface>,
): InetAddress =
    interfaces.flatMap { it.inetAddresses.asSequence() }.filter { !it.isLinkLocalAddress }.let { addresses ->
        addresses.firstOrNull { it is Inet4Address } ?: addresses.firstOrNull()
    } ?: throw RdmaException(
        "connections go by IP addresses, and " +
            if (interfaces.isEmpty()) {
                "$device has no network interface that could have one: take another device by --device"
            } else {
                interfaces.first().name.let {
                    "$it, the network interface of $device, has none: ip addr add ADDRESS/24 dev $it, as root"
                }
            },
    )

private const val MAC_BYTES = 6
