package org.kverbs.benchmarks.bench

import io.netty.channel.epoll.Epoll
import io.netty.channel.epoll.EpollIoHandler
import io.netty.channel.epoll.EpollServerSocketChannel
import io.netty.channel.epoll.EpollSocketChannel
import io.netty.channel.uring.IoUring
import io.netty.channel.uring.IoUringIoHandler
import io.netty.channel.uring.IoUringServerSocketChannel
import io.netty.channel.uring.IoUringSocketChannel
import org.kverbs.Device
import org.kverbs.embedded.EmbeddedProvider
import java.io.File
import java.lang.foreign.Arena
import java.lang.foreign.SymbolLookup
import java.net.Inet4Address
import java.net.InetSocketAddress
import java.net.NetworkInterface
import java.net.ServerSocket

/** All contenders, in the order of the tables. The first one is what the others are compared with. */
internal val CONTENDERS: List<Contender> =
    listOf(
        JvmContender("tcp", "TCP, blocking channels of Java") { TcpExchange() },
        JvmContender("netty-epoll", "Netty 4.2, epoll", missing = { because(Epoll.unavailabilityCause()) }) {
            NettyExchange(
                EpollIoHandler::newFactory,
                EpollServerSocketChannel::class.java,
                EpollSocketChannel::class.java,
            )
        },
        JvmContender("netty-io_uring", "Netty 4.2, io_uring", missing = { because(IoUring.unavailabilityCause()) }) {
            NettyExchange(
                IoUringIoHandler::newFactory,
                IoUringServerSocketChannel::class.java,
                IoUringSocketChannel::class.java,
            )
        },
        JvmContender(
            "jucx-tcp",
            "JUCX 1.14, UCX over TCP",
            mapOf("UCX_TLS" to "tcp", "UCX_NET_DEVICES" to "lo"),
            ::noUcx,
        ) { JucxExchange() },
        JvmContender("jucx-memory", "JUCX 1.14, UCX over shared memory", mapOf("UCX_TLS" to "shm,self"), ::noUcx) {
            JucxExchange()
        },
        JvmContender("kverbs-udp", "kverbs, embedded devices over UDP") {
            VerbsExchange(overUdp(NEAR), overUdp(FAR))
        },
        JvmContender("kverbs", "kverbs, embedded devices in process", mapOf("KVERBS_EMBEDDED" to "memory,memory")) {
            embedded()
        },
        JvmContender("kverbs-device", "kverbs, the RDMA device", missing = ::noDevice) {
            VerbsExchange(hardware().first(), hardware().first())
        },
        JvmContender(
            "disni",
            "DiSNI 2.0, the RDMA device",
            missing = { noDevice() ?: noDisni() },
            // Its buffers have their addresses from there.
            options = listOf("--add-exports=java.base/sun.nio.ch=ALL-UNNAMED"),
        ) { DisniExchange(freeAddress(hardware().first())) },
        Perftest(::noDevice) { hardware().first().name() },
    )

/** The names of those that need an RDMA device. */
internal val OF_A_DEVICE = setOf("kverbs-device", "disni", "perftest")

private fun embedded() = Device.list().filter { isEmbedded(it) }.let { (near, far) -> VerbsExchange(near, far) }

private fun hardware() = Device.list().filterNot { isEmbedded(it) }

private fun isEmbedded(device: Device) = device.provider() == "embedded"

/**
 * A device at an address of the loopback that hardly any other program has. It has a provider of its own, as in a
 * process of its own: the devices of one provider share a lock.
 */
private fun overUdp(end: Int): Device {
    val network = ProcessHandle.current().pid().let { "127.${1 + it / 251 % 250}.${1 + it % 251}" }
    val provider = EmbeddedProvider("udp:$network.$end")
    return Device.of(provider, provider.devices().single())
}

private const val NEAR = 1
private const val FAR = 2

private fun because(cause: Throwable?) = cause?.let { "not on this machine: ${(it.cause ?: it).message}" }

private fun noDevice() =
    if (hardware().isEmpty()) "no RDMA device; the lab has some: ./kverbs lab './kverbs bench'" else null

/** Returns an IPv4 address of the interface below a device, and a port that is free now. */
private fun freeAddress(device: Device): InetSocketAddress {
    val interfaces = device.open().use { context -> context.queryGidTable().map { it.netdevIndex() } }.distinct()
    val addresses = interfaces.mapNotNull(NetworkInterface::getByIndex).flatMap { it.inetAddresses.asSequence() }
    val address =
        addresses.firstOrNull { it is Inet4Address }
            ?: throw BenchException("${device.name()} has no IPv4 address, by which DiSNI connects")
    return ServerSocket(0, 1, address).use { InetSocketAddress(address, it.localPort) }
}

private fun noDisni() =
    if (System.getProperty("java.library.path").split(':').any { File(it, "libdisni.so").exists() }) {
        null
    } else {
        "no libdisni.so of DiSNI 2.0: build it from its sources, and set LD_LIBRARY_PATH to where it is"
    }

private fun noUcx(): String? =
    try {
        Arena.ofConfined().use { SymbolLookup.libraryLookup("libucp.so.0", it) }
        null
    } catch (_: IllegalArgumentException) {
        "no UCX: as root, apt-get install libucx0, or set LD_LIBRARY_PATH to where it is"
    }
