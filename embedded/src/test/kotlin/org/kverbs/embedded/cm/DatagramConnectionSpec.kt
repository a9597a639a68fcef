package org.kverbs.embedded.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletionStatus
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.MULTICAST_JOIN
import org.kverbs.cm.ConnectionEventType.UNREACHABLE
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import org.kverbs.embedded.EmbeddedFabric
import org.kverbs.embedded.End
import org.kverbs.embedded.Faults
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration

private const val QKEY = 0x01234567
private const val GRH = 40L

private fun datagrams(seed: Long = 1) = Parties(EmbeddedFabric.virtual(seed), QueuePairType.UD)

private fun End.receive() {
    val requests = ReceiveRequests()
    requests.receive(1).into(mr.slice(1024, GRH + 64))
    qp.postReceive(requests)
}

class DatagramConnectionSpec :
    FunSpec({
        val ready = listOf(QueuePairState.INIT, QueuePairState.RTR, QueuePairState.RTS)

        test("should resolve a service to a queue pair that datagrams reach") {
            datagrams().use { (client, server) ->
                server.listen(portSpace = PortSpace.UDP)
                val asking = client.resolve(Parties.address(), PortSpace.UDP)
                ready.forEach { asking.prepare(client.end.qp, it) }
                asking.connect(client.end.qp, ConnectionParameters.DEFAULTS.withPrivateData(byteArrayOf(5)))
                val request = server.expect(CONNECT_REQUEST)
                request.privateData() shouldBe byteArrayOf(5).copyOf(180)
                ready.forEach { request.id().prepare(server.end.qp, it) }
                server.end.receive()
                request.id().accept(server.end.qp, ConnectionParameters.DEFAULTS.withPrivateData(byteArrayOf(6)))
                val peer = client.expect(ESTABLISHED)
                peer.privateData() shouldBe byteArrayOf(6).copyOf(136)
                (peer.queuePairNumber() to peer.qkey()) shouldBe (server.end.qp.number() to QKEY)
                client.end.fill(3)
                val handle = client.end.mr.protectionDomain().addressHandle(peer.address().shouldNotBeNull())
                client.end.post {
                    send(
                        1,
                    ).from(client.end.mr.slice(0, 64)).to(handle, peer.queuePairNumber(), peer.qkey()).signaled()
                }
                server.end.take(1).single().status() shouldBe WorkCompletionStatus.SUCCESS
                server.end.bytes(1024 + GRH, 64) shouldBe client.end.bytes(0, 64)
                server.hasEvent() shouldBe false
            }
        }

        test("should resolve it on a line that loses 30 % of the packets, with one request for each question") {
            for (seed in 1L..50L) {
                datagrams(seed).use { (client, server, fabric) ->
                    server.listen(portSpace = PortSpace.UDP)
                    fabric.setFaults(Faults.NONE.loss(0.3).duplication(0.3))
                    client
                        .resolve(
                            Parties.address(),
                            PortSpace.UDP,
                        ).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                    server.expect(CONNECT_REQUEST).id().accept(server.end.qp, ConnectionParameters.DEFAULTS)
                    client.expect(ESTABLISHED)
                    server.hasEvent() shouldBe false
                }
            }
        }

        test(
            "should report UNREACHABLE with a status for a missing service and for a refusal, and ETIMEDOUT for a " +
                "dead peer",
        ) {
            datagrams().use { (client, server, fabric) ->
                fun ask() =
                    client
                        .resolve(
                            Parties.address(),
                            PortSpace.UDP,
                        ).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                ask()
                client.expect(UNREACHABLE).status() shouldBe 1
                // A listener for connections does not take datagram requests.
                server.listen()
                ask()
                client.expect(UNREACHABLE).status() shouldBe 1
                server.listen(portSpace = PortSpace.UDP)
                ask()
                server.expect(CONNECT_REQUEST).id().reject(byteArrayOf(7))
                val refused = client.expect(UNREACHABLE)
                (refused.status() to refused.privateData().first().toInt()) shouldBe (2 to 7)
                ask()
                server.expect(CONNECT_REQUEST).id().close()
                client.expect(UNREACHABLE).status() shouldBe 2
                client.resolve(Parties.address(), PortSpace.UDP).let {
                    fabric.kill(server.device)
                    it.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                }
                client.expect(UNREACHABLE).status() shouldBe -110
            }
        }

        test("should join a multicast group, send to it and receive its datagrams") {
            datagrams().use { (client, server) ->
                val group = InetSocketAddress(InetAddress.ofLiteral("239.1.2.3"), 0)
                val joined =
                    listOf(client to "198.18.0.1", server to "198.18.0.2").map { (party, address) ->
                        val id = party.id(PortSpace.UDP)
                        id.bind(InetSocketAddress(InetAddress.ofLiteral(address), 0))
                        id.resolveAddress(group, Duration.ofSeconds(1))
                        party.expect(ADDR_RESOLVED)
                        ready.forEach { id.prepare(party.end.qp, it) }
                        id.joinMulticast(group)
                        val event = party.expect(MULTICAST_JOIN)
                        (event.queuePairNumber() to event.qkey()) shouldBe (0xffffff to QKEY)
                        val gid = event.address().shouldNotBeNull().globalRoute()!!.dgid()
                        gid.toCompactString() shouldBe "::ffff:239.1.2.3"
                        party.end.qp.attachMulticast(gid, 0)
                        id to event
                    }
                server.end.receive()
                client.end.fill(4)
                val (id, event) = joined.first()
                val handle = client.end.mr.protectionDomain().addressHandle(event.address()!!)
                client.end.post {
                    send(
                        1,
                    ).from(client.end.mr.slice(0, 64)).to(handle, event.queuePairNumber(), event.qkey()).signaled()
                }
                server.end.take(1).single().status() shouldBe WorkCompletionStatus.SUCCESS
                server.end.bytes(1024 + GRH, 64) shouldBe client.end.bytes(0, 64)
                id.leaveMulticast(group)
            }
        }
    })
