package org.kverbs.embedded.internal.udp

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.embedded.internal.wire.Packet
import java.net.BindException
import java.net.Inet6Address
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.channels.DatagramChannel
import kotlin.random.Random

private fun packet(port: Int) =
    Packet(0).apply {
        sourcePort = port
        destinationGidLow = 0xffff_7f00_0001
    }

private fun withPorts(
    isNative: Boolean,
    test: (SourcePorts, InetAddress) -> Unit,
) {
    val address = InetAddress.ofLiteral("127.80.${Random.nextInt(1, 250)}.${Random.nextInt(1, 250)}")
    val sockets = PortSockets(true, PortSockets.BUFFER, isNative)
    sockets.open(InetSocketAddress(address, 4791)).use { main ->
        val ports = SourcePorts(sockets, Peer(address))
        ports.open(main, null)
        test(ports, address)
        ports.close()
        ports.of(packet(0xc001)) shouldBe null
    }
}

/** Tells whether a port of an address can be bound. */
private fun isFree(
    address: InetAddress,
    port: Int,
) = try {
    DatagramChannel.open().use { it.bind(InetSocketAddress(address, port)) }
    true
} catch (_: BindException) {
    false
}

class SourcePortsSpec :
    FunSpec({
        for (isNative in listOf(true, false)) {
            val kind = if (isNative) "the system's sockets" else "sockets of Java"

            test("should send many connections from several ports, and each connection from one, with $kind") {
                withPorts(isNative) { ports, address ->
                    val wanted = (0 until 0x4000 step 7).map { 0xc000 or it }
                    val exits = wanted.map { ports.of(packet(it)).shouldNotBeNull() }
                    wanted.zip(exits).forEach { (port, exit) -> ports.of(packet(port)) shouldBeSameInstanceAs exit }
                    val different = exits.distinct()
                    different.size shouldBe 16
                    val numbers = different.map { it.port() }.distinct()
                    numbers.size shouldBe 16
                    numbers.min() shouldBeGreaterThan 0xbfff
                    numbers.filter { isFree(address, it) }.shouldBeEmpty()
                    ports.close()
                    numbers.filterNot { isFree(address, it) }.shouldBeEmpty()
                }
            }

            test("should use another port if one is taken, with $kind") {
                withPorts(isNative) { ports, address ->
                    DatagramChannel.open().use { other ->
                        other.bind(InetSocketAddress(address, 0xc123))
                        ports.of(packet(0xc123)).shouldNotBeNull().port() shouldBeGreaterThan 0xc123
                    }
                }
            }

            test("should send from the socket that receives if the system has no other, with $kind") {
                val address = InetAddress.ofLiteral("127.80.${Random.nextInt(1, 250)}.${Random.nextInt(1, 250)}")
                // Its GID is an IPv4 address, but no IPv4 socket accepts it.
                val mapped = Inet6Address.getByAddress(null, ByteArray(10) + byteArrayOf(-1, -1) + address.address, -1)
                val sockets = PortSockets(true, PortSockets.BUFFER, isNative)
                val ports = SourcePorts(sockets, Peer(mapped))
                sockets.open(InetSocketAddress(address, 4791)).use { main ->
                    ports.open(main, null)
                    ports.of(packet(0xc001)).shouldNotBeNull() shouldBeSameInstanceAs main
                    ports.close()
                }
            }
        }
    })
