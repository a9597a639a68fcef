package org.kverbs.embedded.internal.udp

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Counters
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.internal.abi.Errno
import java.net.InetAddress
import java.net.NetworkInterface
import java.util.concurrent.CountDownLatch
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.seconds

/** A socket that is full, until [answer] says otherwise. */
private class FullSocket : UdpSocket {
    @Volatile
    var answer = { -Errno.EAGAIN }

    override fun port() = 4791

    override fun receiveBuffer() = 0

    override fun mostPackets() = 64

    override fun send(
        to: Peer,
        trafficClass: Int,
        multicastHops: Int,
        from: Room,
        offset: Int,
        length: Int,
        packet: Int,
    ) = answer()

    override fun receive(into: Datagram) = false

    override fun setMulticastInterface(network: NetworkInterface) = Unit

    override fun join(
        group: InetAddress,
        network: NetworkInterface,
    ) = Unit

    override fun close() = Unit
}

/** A sender at an address that this machine does not have, so that all packets leave by the one socket. */
private class FullBench : AutoCloseable {
    val socket = FullSocket()
    private val engine = Engine(false).apply { call { onFailure { } } }
    private val counters = Counters()
    private val host = Peer(InetAddress.ofLiteral("192.0.2.2"))
    private val sockets = PortSockets(true, 1 shl 16, false)
    private val sender =
        SocketSender(engine, sockets, Peer(InetAddress.ofLiteral("192.0.2.1")), counters).apply { open(socket, null) }

    private fun Engine.call(action: () -> Unit) {
        enter()
        try {
            action()
        } finally {
            leave()
        }
    }

    /** Sends acknowledgements in one call. */
    fun send(count: Int) =
        engine.call {
            repeat(count) {
                val packet = Packet(0).apply { opcode = Opcode.RC_ACK }
                sender.send(packet.apply { destinationGidLow = host.gidLow }, host)
            }
        }

    fun shut() = engine.call { sender.close() }

    fun discards(): Long {
        var count = 0L
        engine.call { count = counters.ofDevice().getValue("port_xmit_discards") }
        return count
    }

    override fun close() = engine.close()
}

/** Checks that no packet that is dropped goes uncounted. */
class SocketSenderSpec :
    FunSpec({
        test("should count packets that wait for a full socket when the device closes") {
            FullBench().use {
                it.send(3)
                it.discards() shouldBe 0
                it.send(2) // no room for these
                it.discards() shouldBe 2
                it.shut()
                it.discards() shouldBe 5
            }
        }

        test("should count packets that a failure drops, and send the next ones") {
            FullBench().use {
                it.send(3)
                it.socket.answer = { error("a planted failure") }
                eventually(20.seconds) { it.discards() shouldBe 3 }
                it.socket.answer = { 0 }
                it.send(4)
                it.shut()
                it.discards() shouldBe 3
            }
        }

        test("should count packets whose first attempt fails") {
            FullBench().use {
                it.socket.answer = { error("a planted failure") }
                it.send(3)
                it.discards() shouldBe 3
            }
        }

        test("should count no packet that left after it had waited") {
            FullBench().use {
                val sent = CountDownLatch(1)
                it.send(3)
                it.socket.answer = {
                    sent.countDown()
                    0
                }
                sent.await(20, TimeUnit.SECONDS) shouldBe true
                it.shut()
                it.discards() shouldBe 0
            }
        }
    })
