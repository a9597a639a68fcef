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
 * Returns the IP address to connect to a device of this name. On the embedded device and with RoCE it is the device's
 * GID. Otherwise it is an address of the device's network interface: the GID of iWARP is a MAC address.
 *
 * @throws RdmaException if the device has no IP address; the message says what to do
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
 * Returns the network interfaces that a Linux device can belong to, the surest first. Under Linux 6.1 the interface of
 * soft-iWARP is found only by its MAC address.
 */
private fun interfacesOf(
    device: Path,
    gid: ByteArray,
): List<NetworkInterface> {
    val ofPort = device.resolve("ports/1/gid_attrs/ndevs/0")
    val ofParent = device.resolve("device/net")
    val names =
        listOfNotNull(runCatching { ofPort.readText().trim() }.getOrNull()) + // EINVAL if the device knows none
            if (ofParent.exists()) ofParent.listDirectoryEntries().map { it.name } else emptyList()
    val mac = gid.copyOf(MAC_BYTES)
    return names.mapNotNull { NetworkInterface.getByName(it) } +
        NetworkInterface.networkInterfaces().filter { mac.contentEquals(it.hardwareAddress) }.toList()
}

/** Returns the first address of these interfaces that other machines can connect to; prefers IPv4. */
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
