package org.kverbs.embedded.internal.udp

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.types.shouldBeSameInstanceAs
import org.kverbs.embedded.internal.wire.Packet
import java.net.Inet6Address
import java.net.InetAddress
import java.net.InetSocketAddress
import java.net.StandardSocketOptions
import java.nio.channels.DatagramChannel
import kotlin.random.Random

private fun packet(
    port: Int,
    fill: Packet.() -> Unit = {},
) = Packet(0).apply {
    sourcePort = port
    destinationGidLow = 0xffff_7f00_0001
    fill()
}

private fun withPorts(test: (SourcePorts, InetAddress) -> Unit) {
    val address = InetAddress.ofLiteral("127.80.${Random.nextInt(1, 250)}.${Random.nextInt(1, 250)}")
    DatagramChannel.open().use { main ->
        main.bind(InetSocketAddress(address, 4791))
        val ports = SourcePorts(Peer(address))
        ports.open(main, null)
        test(ports, address)
        ports.close()
        ports.of(packet(0xc001)) shouldBe null
    }
}

class SourcePortsSpec :
    FunSpec({
        test(
            "should send many connections from several ports, and each connection from one port",
        ) {
            withPorts { ports, address ->
                val wanted = (0 until 0x4000 step 7).map { 0xc000 or it }
                val exits = wanted.map { ports.of(packet(it)).shouldNotBeNull() }
                wanted.zip(exits).forEach { (port, exit) -> ports.of(packet(port)) shouldBeSameInstanceAs exit }
                val different = exits.distinct()
                different.size shouldBe 16
                different.map { it.port }.distinct().size shouldBe 16
                different.forEach { it.channel.localAddress shouldBe InetSocketAddress(address, it.port) }
                different.minOf { it.port } shouldBeGreaterThan 0xbfff
            }
        }

        test("should use another port if one is taken") {
            withPorts { ports, address ->
                DatagramChannel.open().use { other ->
                    other.bind(InetSocketAddress(address, 0xc123))
                    val port = ports.of(packet(0xc123)).shouldNotBeNull().port
                    port shouldBeGreaterThan 0xc123
                }
            }
        }

        test("should send from the socket that receives if the system has no other, whatever it throws") {
            withPorts { _, address ->
                // Its GID is an IPv4 address, but no IPv4 socket accepts it.
                val mapped = Inet6Address.getByAddress(null, ByteArray(10) + byteArrayOf(-1, -1) + address.address, -1)
                val ports = SourcePorts(Peer(mapped))
                DatagramChannel.open().use { main ->
                    ports.open(main, null)
                    ports.of(packet(0xc001)).shouldNotBeNull().channel shouldBeSameInstanceAs main
                    ports.close()
                }
            }
        }

        test("should send with the packet's traffic class, and multicast with its hop limit") {
            withPorts { ports, _ ->
                for (traffic in listOf(0x68, 0, 0xb8)) {
                    val exit = ports.of(packet(0xc001) { trafficClass = traffic }).shouldNotBeNull()
                    exit.channel.getOption(StandardSocketOptions.IP_TOS) shouldBe traffic
                }
                val group =
                    packet(0xc001) {
                        destinationGidLow = 0xffff_e000_0105
                        hopLimit = 7
                    }
                ports.of(group).shouldNotBeNull().channel.getOption(StandardSocketOptions.IP_MULTICAST_TTL) shouldBe 7
            }
        }
    })
