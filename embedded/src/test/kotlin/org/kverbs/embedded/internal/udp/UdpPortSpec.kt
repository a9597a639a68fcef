package org.kverbs.embedded.internal.udp

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.transport.Gsi
import org.kverbs.embedded.internal.transport.Hca
import java.net.InetAddress
import java.util.Random
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.seconds

/** A device on an address of the loopback network, with its own engine. */
private class Node(
    host: Int,
) : AutoCloseable {
    private val address = InetAddress.ofLiteral("127.81.${Random().nextInt(1, 250)}.$host")
    val engine = Engine(false)
    val gids = UdpPort.gids(address)
    private val hca = Hca("udp$host", 1, engine, gids, 4096, Random(1))
    val port = UdpPort(hca, address, true)

    init {
        hca.connect(port)
        locked { gsi -> gsi.open() shouldBe 0 }
    }

    fun locked(action: (Gsi) -> Unit) {
        engine.enter()
        try {
            action(hca.gsi())
        } finally {
            engine.leave()
        }
    }

    override fun close() {
        locked { it.close() }
        engine.close()
    }
}

/** Tells whether a thread of a port waits for the lock of its device to deliver packets. */
private fun isDelivering() =
    Thread.getAllStackTraces().any { (thread, frames) ->
        thread.state == Thread.State.WAITING && frames.any { it.className == SocketReceiver::class.java.name }
    }

class UdpPortSpec :
    FunSpec({
        test("should go on receiving after a datagram caused an exception, even if the handler throws, too") {
            Node(1).use { sender ->
                Node(2).use { receiver ->
                    val arrived = Semaphore(0)
                    receiver.locked { gsi ->
                        receiver.engine.onFailure { throw it }
                        gsi.serve { _, _ ->
                            arrived.release()
                            throw AssertionError("a test's own")
                        }
                    }
                    repeat(3) {
                        sender.locked { it.send(ByteArray(Gsi.MAD), 0, receiver.gids.high(0), receiver.gids.low(0)) }
                        arrived.tryAcquire(20, TimeUnit.SECONDS) shouldBe true
                    }
                }
            }
        }

        fun Node.sendTo(
            other: Node,
            count: Int,
        ) = locked { gsi -> repeat(count) { gsi.send(ByteArray(Gsi.MAD), 0, other.gids.high(0), other.gids.low(0)) } }

        test("should have taken every packet when it has caught up") {
            Node(1).use { sender ->
                Node(2).use { receiver ->
                    val arrived = Semaphore(0)
                    receiver.locked { gsi -> gsi.serve { _, _ -> arrived.release() } }
                    var caughtUp = 0
                    repeat(200) {
                        // The port's own thread leaves packets to a program that polls continuously.
                        repeat(20) { receiver.port.look(false) }
                        sender.sendTo(receiver, 5)
                        receiver.locked {
                            if (receiver.port.catchUp()) {
                                caughtUp++
                                arrived.availablePermits() shouldBe 5
                            }
                        }
                        arrived.tryAcquire(5, 20, TimeUnit.SECONDS) shouldBe true
                    }
                    caughtUp shouldBeGreaterThan 0
                }
            }
        }

        test("should not claim to have caught up while another thread has packets that it has not delivered") {
            Node(1).use { sender ->
                Node(2).use { receiver ->
                    val arrived = Semaphore(0)
                    receiver.locked { gsi -> gsi.serve { _, _ -> arrived.release() } }
                    receiver.locked {
                        sender.sendTo(receiver, 1)
                        val end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20)
                        while (!isDelivering() && System.nanoTime() < end) Thread.sleep(1)
                        receiver.port.catchUp() shouldBe false
                    }
                    arrived.tryAcquire(20, TimeUnit.SECONDS) shouldBe true
                    // The thread has its packets for a moment longer than the handler that released the semaphore.
                    eventually(20.seconds) { receiver.port.catchUp() shouldBe true }
                }
            }
        }
    })
