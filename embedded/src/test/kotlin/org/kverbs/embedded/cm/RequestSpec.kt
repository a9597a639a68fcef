package org.kverbs.embedded.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.RdmaSystemException
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionEventType.TIMEWAIT_EXIT
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.time.Duration

class RequestSpec :
    FunSpec({
        test("should reject a request to a port without a listener") {
            Parties().use { (client, server) ->
                server.listen(portSpace = PortSpace.UDP)
                client.resolve(Parties.address()).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(REJECTED).status() shouldBe 8
                server.hasEvent() shouldBe false
            }
        }

        test("should carry a rejection's private data both ways") {
            Parties().use { (client, server) ->
                server.listen()
                val asking = client.resolve(Parties.address())
                asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                server.expect(CONNECT_REQUEST).id().reject(byteArrayOf(1, 2))
                val refused = client.expect(REJECTED)
                refused.status() shouldBe 28
                refused.privateData() shouldBe byteArrayOf(1, 2).copyOf(148)
                val again = client.resolve(Parties.address())
                again.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                server.expect(CONNECT_REQUEST).id().accept(server.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(CONNECT_RESPONSE)
                again.reject(byteArrayOf(3))
                server.expect(REJECTED).privateData() shouldBe byteArrayOf(3).copyOf(148)
            }
        }

        test("should let no more requests wait than the backlog holds; the others ask again") {
            Parties().use { (client, server, fabric) ->
                server.listen(backlog = 2)
                val askers = listOf(client, Party(client.device), Party(client.device))
                askers.forEach { it.resolve(Parties.address()).connect(it.end.qp, ConnectionParameters.DEFAULTS) }
                val numbers =
                    List(3) { turn ->
                        val event = server.expect(CONNECT_REQUEST)
                        (fabric.clock().elapsed() > Duration.ofSeconds(1)) shouldBe (turn == 2)
                        event.queuePairNumber()
                    }
                numbers shouldBe askers.map { it.end.qp.number() }
                askers.drop(1).forEach { it.close() }
            }
        }

        test("should end the first connection of a queue pair when its peer requests a second one") {
            Parties().use { parties ->
                val (client, server, fabric) = parties
                val (_, asked) = parties.connect()
                val again = client.resolve(Parties.address())
                again.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(DISCONNECTED) // the server's side of that connection ended with the request
                client.expect(REJECTED).let { (it.id() to it.status()) shouldBe (again to 10) }
                asked.deviceName() shouldBe "embedded1"
                fabric.clock().advance(Duration.ofMinutes(1))
                server.expect(DISCONNECTED).status() shouldBe -110
            }
        }

        test("should neither give queue pair attributes nor accept once the requesting side has gone") {
            Parties().use { parties ->
                val (_, server) = parties
                val asking = parties.ask()
                val asked = server.expect(CONNECT_REQUEST).id()
                asked.prepare(server.end.qp, INIT)
                asking.close()
                server.expect(REJECTED).status() shouldBe 4
                for (state in listOf(INIT, RTR, RTS)) {
                    shouldThrow<RdmaSystemException> { asked.queuePairAttributes(state) }.errnoName() shouldBe "EINVAL"
                }
                val parameters = ConnectionParameters.DEFAULTS
                shouldThrow<RdmaSystemException> { asked.accept(server.end.qp, parameters) }.errnoName() shouldBe
                    "EINVAL"
            }
        }

        test("should report a peer that disconnects before its RTU came as disconnected, not as established") {
            Parties().use { parties ->
                val (client, server) = parties
                val (asking, _) = parties.loseRtu()
                asking.disconnect()
                server.expect(DISCONNECTED).id().disconnect()
                client.expect(DISCONNECTED)
                client.expect(TIMEWAIT_EXIT)
                server.expect(TIMEWAIT_EXIT)
            }
        }

        test("should drop the requests that wait when the listener is closed, and reject them") {
            Parties().use { (client, server, fabric) ->
                val listener = server.listen()
                client.resolve(Parties.address()).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                listener.close()
                client.expect(REJECTED).status() shouldBe 28
                server.hasEvent() shouldBe false
                fabric.clock().advance(Duration.ofMinutes(2))
                client.hasEvent() shouldBe false
            }
        }

        test("should move an id and its events to another channel") {
            Parties().use { parties ->
                val (client, server) = parties
                val asking = parties.ask()
                val asked = server.expect(CONNECT_REQUEST).id()
                server.accept(asked)
                val other = Party(client.device)
                asking.migrate(other.channel)
                other.expect(CONNECT_RESPONSE)
                client.establish(asking)
                server.expect(ESTABLISHED)
                asked.disconnect()
                other.expect(DISCONNECTED)
                client.hasEvent() shouldBe false
                other.close()
            }
        }

        test("should take the first data for the lost RTU when the program tells of it") {
            Parties().use { parties ->
                val (_, asked) = parties.loseRtu()
                asked.notifyOf(AsyncEventType.COMM_EST)
                parties.server.expect(ESTABLISHED)
            }
        }
    })
