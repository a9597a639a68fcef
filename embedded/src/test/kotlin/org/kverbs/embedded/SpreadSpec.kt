package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.wire.Buffer
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import java.nio.channels.DatagramChannel
import kotlin.random.Random

private const val CONNECTIONS = 64
private const val PATIENCE = 20_000_000_000

/**
 * Returns the source ports of the packets of several connections to a plain socket, three packets of each connection.
 */
private fun ports(flowLabel: Int): List<Set<Int>> {
    val net = Random.nextInt(1, 250)
    val (own, peer) = listOf("127.81.$net.1", "127.81.$net.2").map(InetAddress::ofLiteral)
    val provider = EmbeddedProvider("udp:${own.hostAddress}")
    val device = Device.of(provider, provider.devices().single())
    return DatagramChannel.open().use { socket ->
        socket.bind(InetSocketAddress(peer, Icrc.UDP_PORT))
        socket.configureBlocking(false)
        List(CONNECTIONS) { number ->
            End(device, QueuePairType.UC, 4096).use { end ->
                val options = ConnectOptions.builder().flowLabel(flowLabel).build()
                end.qp.connect(QueuePairEndpoint(0, Gid.of(peer), number + 2, 0, Mtu.MTU_1024.bytes(), 0), options)
                repeat(3) { end.post { send(1).from(end.mr.slice(0, 8)) } }
                List(3) { arrived(socket, peer) }.toSet()
            }
        }
    }
}

/** Returns the source port of the next packet, whose checksum must match it. */
private fun arrived(
    socket: DatagramChannel,
    to: InetAddress,
): Int {
    val bytes = ByteBuffer.allocate(2048)
    val begin = System.nanoTime()
    var from: InetSocketAddress? = null
    while (from == null) {
        check(System.nanoTime() - begin < PATIENCE) { "no packet within 20 s" }
        from = socket.receive(bytes) as InetSocketAddress?
    }
    val buffer = Buffer().put(bytes.array())
    val (source, destination) = listOf(from.address, to).map { ByteBuffer.wrap(it.address).getInt() }
    val length = bytes.position() - Icrc.LENGTH
    withClue("the checksum of a packet of $length bytes from $from") {
        Icrc().v4Fits(source, destination, from.port, Icrc.UDP_PORT, buffer.address, length, 0) shouldBe true
    }
    return from.port
}

class SpreadSpec :
    FunSpec({
        test("should send each connection from one port of RoCEv2's range, and many connections from several") {
            val ports = ports(flowLabel = 0)
            ports.map { it.size } shouldBe List(CONNECTIONS) { 1 }
            ports.flatten().min() shouldBeGreaterThan 0xbfff
            ports.flatten().toSet().size shouldBeGreaterThan 4
        }

        test("should send connections of one flow label from one port") {
            ports(flowLabel = 0x12345).flatten().toSet().size shouldBe 1
        }
    })
