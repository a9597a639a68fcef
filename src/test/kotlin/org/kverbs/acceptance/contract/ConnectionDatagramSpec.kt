package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MULTICAST_ROUTE
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.MULTICAST_JOIN
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.PortSpace.UDP
import org.kverbs.cm.RejectReason
import java.net.InetSocketAddress

/** Checks datagrams and multicast by the connection manager. */
internal class ConnectionDatagramSpec :
    ContractSpec({
        case(
            "should tell a client the queue pair and the address of a datagram service, with private data both ways",
            DATAGRAM,
        ) {
            channels { clients, servers ->
                val (a, b) = end(UD) to end(UD)
                val client = clients.resolved(checkNotNull(listener(servers, UDP).localAddress()), UDP)
                a.qp.prepare(client, INIT, RTR, RTS)
                client.connect(a.qp, words("who is there"))
                val request = servers.expect(CONNECT_REQUEST)
                request.words() shouldBe "who is there"
                b.qp.prepare(request.id(), INIT, RTR, RTS)
                b.qp.postReceive(7, b.mr.slice())
                request.id().accept(b.qp, words("it is me"))
                val answer = clients.expect(ESTABLISHED)
                answer.words() shouldBe "it is me"
                answer.queuePairNumber() shouldBe b.qp.number()
                send(a, answer, 33)
                b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = GRH_BYTES + 33)
                b.mr.bytes(33, GRH_BYTES) shouldBe pattern(33)
            }
        }

        case("should tell a client that a datagram service does not exist, or that it was rejected", DATAGRAM) {
            channels { clients, servers ->
                val a = end(UD)
                val nobody = clients.resolved(at(9), UDP)
                nobody.connect(a.qp, ConnectionParameters.DEFAULTS)
                val missing = shouldThrow<ConnectionRejectedException> { clients.next().orThrow() }
                missing.reason() shouldBe RejectReason.INVALID_SERVICE_ID
                missing.message shouldContain
                    "connecting to $shownIp:9 failed: rejected, reason 1 (INVALID_SERVICE_ID). Nobody listens"
                val client = clients.resolved(checkNotNull(listener(servers, UDP).localAddress()), UDP)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                servers.expect(CONNECT_REQUEST).id().reject("not today".encodeToByteArray())
                val rejected = shouldThrow<ConnectionRejectedException> { clients.next().orThrow() }
                rejected.reason() shouldBe RejectReason.CONSUMER_DEFINED
                rejected.privateData().decodeToString().trimEnd('\u0000') shouldBe "not today"
            }
        }

        case("should join a multicast group, receive its messages, and leave it", MULTICAST_ROUTE, DATAGRAM) {
            channels { channel, _ ->
                val drawn = drawnGroup()
                val group = InetSocketAddress(drawn, 0)
                val ends = List(2) { end(UD) }
                val ids = ends.map { channel.id(UDP).also { id -> id.bind(at(0)) } }
                ids.zip(ends).forEach { (id, end) -> end.qp.prepare(id, INIT, RTR, RTS) }
                val joined =
                    ids.mapIndexed { i, id ->
                        id.joinMulticast(group, i == 0)
                        channel.expect(MULTICAST_JOIN).also { it.id() shouldBe id }
                    }
                val route = joined[1].address().shouldNotBeNull()
                val gid = route.globalRoute().shouldNotBeNull().dgid()
                gid shouldBe Gid.parse(drawn)
                val (sender, member) = ends
                member.qp.attachMulticast(gid, route.destinationLid())
                member.qp.postReceive(7, member.mr.slice())
                send(sender, joined[0], 12)
                member.cq.takeOne().shouldBeDone(7, RECV, member.qp, bytes = GRH_BYTES + 12)
                sender.cq.shouldStayEmpty()
                ids.forEach { it.leaveMulticast(group) }
                shouldThrow<RdmaSystemException> { ids[0].leaveMulticast(group) }.message shouldContain
                    "has not joined that group"
            }
        }

        case("should refuse to join an address that is not a group, and on a device without multicast") {
            channels { channel, _ ->
                val id = channel.id(UDP)
                id.bind(at(0))
                shouldThrow<IllegalArgumentException> {
                    id.joinMulticast(
                        InetSocketAddress("10.1.2.3", 0),
                    )
                }.message shouldBe
                    "10.1.2.3:0 is no multicast address: those of IPv4 are 224.0.0.0 to 239.255.255.255, those of " +
                    "IPv6 begin with ff"
                if (isIwarp) {
                    shouldThrow<RdmaSystemException> {
                        id.joinMulticast(
                            InetSocketAddress("239.1.2.3", 0),
                        )
                    }.message shouldContain
                        "rdma_join_multicast_ex(239.1.2.3:0) failed: ENOSYS"
                }
            }
        }
    })

/** Sends this many bytes to the address of the event. */
private fun Bench.send(
    from: End,
    to: ConnectionEvent,
    bytes: Int,
) {
    val address = pd.addressHandle(to.address().shouldNotBeNull())
    from.post { send(1).inline(pattern(bytes)).to(address, to.queuePairNumber(), to.qkey()).signaled() }
    from.cq.takeOne().shouldBeDone(1, SEND, from.qp)
}
