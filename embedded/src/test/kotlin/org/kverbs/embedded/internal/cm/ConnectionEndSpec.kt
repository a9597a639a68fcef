package org.kverbs.embedded.internal.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.maps.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.cm.PEER
import org.kverbs.embedded.cm.PORT
import org.kverbs.embedded.cm.RawPeer
import org.kverbs.embedded.cm.UDP_SERVICE
import org.kverbs.embedded.cm.header
import org.kverbs.embedded.cm.request
import java.util.Random

private const val HOUR = 3600 * 1_000_000_000L
private val NOTHING = ByteArray(0)

/** An owner that fails when it gets the last event. */
private class Failing : ConnectionOwner {
    override fun replied(rep: Message.Rep) = Unit

    override fun established() = Unit

    override fun rejected(
        reason: Int,
        privateData: ByteArray,
    ) = Unit

    override fun unreachable(): Unit = error("the test's own")

    override fun disconnected(status: Int) = Unit

    override fun timewaitOver(): Unit = error("the test's own")
}

private object FailingServices : Agent.Services {
    override fun requested(
        connection: Connection,
        req: Message.Req,
        addresses: IpService,
    ): Boolean = error("the test's own")

    override fun requested(
        resolved: Resolved,
        req: Message.SidrReq,
        addresses: IpService,
    ): Boolean = error("the test's own")
}

/** A device whose link another user has open, too. */
private class Shared : AutoCloseable {
    val peer = RawPeer(1)
    val failures = mutableListOf<Throwable>()
    val port =
        peer.manager.host.devices
            .all()
            .first()
            .gsi()

    init {
        peer.engine.onFailure { failures += it }
        peer.locked { port.open() }
        peer.allowed = 1000
    }

    fun connection(): Connection {
        val connection = Connection.active(peer.manager.host.agent, Remote(port, 0, 0, PEER), Failing())
        peer.locked { connection.request(request(id = connection.localId)) }
        return connection
    }

    fun hour() {
        peer.allowed = 1000
        peer.locked { peer.engine.advance(HOUR) }
    }

    /** Ends all but the user that has the link open; returns the number of open links. */
    fun openInTheEnd(): Int {
        peer.manager.destroyEventChannel(peer.channel)
        return peer.open
    }

    override fun close() = peer.close()
}

class ConnectionEndSpec :
    FunSpec({
        test("should leave the link open for others when the owner fails at unreachable()") {
            Shared().use { device ->
                device.connection()
                device.hour()
                device.failures.map { it.message } shouldBe listOf("the test's own")
                device.openInTheEnd() shouldBe 1
            }
        }

        test("should leave the link open for others when the owner fails at timewaitOver()") {
            Shared().use { device ->
                val connection = device.connection()
                device.peer.say(Message.Rep(8, connection.localId, 0, 7, 1, 1, 1, 15, 0, false, 7, false, 2, NOTHING))
                device.peer.locked {
                    connection.establish()
                    connection.disconnect()
                }
                device.peer.say(Message.Drep(8, connection.localId, NOTHING)).shouldBeEmpty()
                connection.state() shouldBe ConnectionState.TIMEWAIT
                device.hour()
                device.failures.map { it.message } shouldBe listOf("the test's own")
                device.openInTheEnd() shouldBe 1
            }
        }

        test("should forget a request when the program's part of taking it fails") {
            Shared().use { device ->
                val agent = Agent(device.peer.engine, Random(1), FailingServices)
                device.port.serve(agent)
                device.peer.say(request()).shouldBeEmpty()
                device.failures.map { it.message } shouldBe listOf("the test's own")
                agent.byId.shouldBeEmpty()
                agent.bySide.shouldBeEmpty()
                agent.byQueuePair.shouldBeEmpty()
                device.openInTheEnd() shouldBe 1
                device.peer.locked { device.port.close() }
                device.peer.open shouldBe 0
            }
        }

        test("should forget a question for a service when the program's part of taking it fails") {
            Shared().use { device ->
                val agent = Agent(device.peer.engine, Random(1), FailingServices)
                device.port.serve(agent)
                device.peer.say(Message.SidrReq(5, 0xffff, UDP_SERVICE, header() + ByteArray(180))).shouldBeEmpty()
                device.failures.map { it.message } shouldBe listOf("the test's own")
                agent.resolved.shouldBeEmpty()
                device.openInTheEnd() shouldBe 1
            }
        }

        test("should forget the id of a request, or of a question for a service, if taking it fails") {
            Shared().use { device ->
                val host = device.peer.manager.host
                val from = Remote(device.port, 0, 0, PEER)
                val short = header() // the service header is missing, which no datagram can cause
                val addresses = checkNotNull(IpService.decode(short, PORT))
                val ids = host.ids.keys.toSet()
                val open = device.peer.open
                device.peer.locked {
                    val req = request(data = short)
                    val connection = Connection.passive(host.agent, from, 1, req)
                    host.agent.add(connection)
                    shouldThrow<IndexOutOfBoundsException> { host.requested(connection, req, addresses) }
                    val question = Message.SidrReq(5, 0xffff, UDP_SERVICE, short)
                    shouldThrow<IndexOutOfBoundsException> {
                        host.requested(
                            Resolved(host.agent, from, 1, question),
                            question,
                            addresses,
                        )
                    }
                }
                host.ids.keys shouldBe ids
                host.agent.byId.shouldBeEmpty()
                device.peer.open shouldBe open
            }
        }
    })
