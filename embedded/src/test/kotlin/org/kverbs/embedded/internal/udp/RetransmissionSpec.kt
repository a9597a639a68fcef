package org.kverbs.embedded.internal.udp

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Gid
import org.kverbs.attributes.Mtu
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.EmbeddedProvider
import org.kverbs.embedded.End
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import org.kverbs.embedded.loopbackAddresses
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.time.Duration.Companion.seconds

private const val PACKETS = 10
private const val BYTES = PACKETS * 1024L
private const val ACK = 0x1f
private const val NAK_SEQUENCE = 0x60
private const val PEERS_QUEUE_PAIR = 3
private const val LAST_PSN = 0xffffff

/** A sender on a UDP device, and the bare socket of its peer, which takes what arrives together as it arrives. */
private class Loss : AutoCloseable {
    private val addresses = loopbackAddresses(2).map(InetAddress::ofLiteral)
    private val device = EmbeddedProvider("udp:${addresses[0].hostAddress}").let { Device.of(it, it.devices().first()) }
    private val socket =
        LinuxSocket(true, InetSocketAddress(addresses[1], Icrc.UDP_PORT), PortSockets.BUFFER, PortSockets.BUFFER)
    private val room = Room(2 * Datagram.MOST)
    private val icrc = Icrc()
    val sender = End(device, QueuePairType.RC, BYTES)
    private val firstPsn = sender.qp.endpoint().psn()

    init {
        // 17 seconds until the sender tries again by itself: the answers of the test come before.
        val options = ConnectOptions.builder().pathMtu(Mtu.MTU_1024).timeout(22).build()
        val gid = Gid.parse("::ffff:${addresses[1].hostAddress}")
        sender.qp.connect(QueuePairEndpoint(0, gid, PEERS_QUEUE_PAIR, 0, 1024, 0), options)
    }

    /** Takes the next datagram, and returns the PSNs of its packets, counted from 0. */
    suspend fun arrived(): List<Int> {
        val datagram = Datagram(room)
        eventually(20.seconds) { socket.receive(datagram) shouldBe true }
        return (0..<datagram.length step datagram.packet).map {
            val packet = Packet(0)
            val length = minOf(datagram.packet, datagram.length - it) - Icrc.LENGTH
            PacketCodec.decode(packet, room.address + it, length) shouldBe true
            packet.psn - firstPsn and LAST_PSN
        }
    }

    /** Answers as the peer, with a PSN counted from 0. */
    fun answer(
        psn: Int,
        syndrome: Int,
    ) {
        val packet =
            Packet(0).also {
                it.opcode = Opcode.RC_ACK
                it.pkey = 0xffff
                it.destinationQp = sender.qp.number()
                it.psn = firstPsn + psn and LAST_PSN
                it.syndrome = syndrome
            }
        val length = PacketCodec.encode(packet, room.address)
        val (here, there) = addresses.map { ByteBuffer.wrap(it.address).getInt() }
        val port = Icrc.UDP_PORT
        Icrc.put(
            room.address + length,
            icrc.ofV4(there, here, Icrc.DONT_FRAGMENT, port, port, room.address, length),
        )
        val bytes = length + Icrc.LENGTH
        socket.send(Peer(addresses[0]), 0, 0, room, 0, bytes, bytes) shouldBe 0
    }

    override fun close() {
        sender.close()
        socket.close()
    }
}

/** Checks what a device sends again after a loss. */
class RetransmissionSpec :
    FunSpec({
        test("should send what is lost and all behind it again together, in one call, and nothing before it") {
            Loss().use { loss ->
                loss.sender.post { send(1).from(loss.sender.mr.slice()).signaled() }
                loss.arrived() shouldBe List(PACKETS) { it }
                loss.answer(4, NAK_SEQUENCE)
                loss.arrived() shouldBe (4..<PACKETS).toList()
                loss.answer(PACKETS - 1, ACK)
                loss.sender.await(1).single().status() shouldBe SUCCESS
            }
        }
    })
