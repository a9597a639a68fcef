package org.kverbs.embedded.internal.udp

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.transport.Gsi
import org.kverbs.embedded.internal.transport.Hca
import java.net.InetAddress
import java.util.Random
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit

/** A device on an address of the loopback network, with its own engine. */
private class Node(
    host: Int,
) : AutoCloseable {
    private val address = InetAddress.ofLiteral("127.81.${Random().nextInt(1, 250)}.$host")
    val engine = Engine(false)
    val gids = UdpPort.gids(address)
    private val hca = Hca("udp$host", 1, engine, gids, 4096, Random(1))

    init {
        hca.connect(UdpPort(hca, address, true))
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
    })
