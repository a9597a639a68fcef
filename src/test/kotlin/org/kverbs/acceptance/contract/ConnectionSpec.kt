package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.Ece
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionStep
import org.kverbs.cm.PortSpace
import org.kverbs.cm.RejectReason
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicInteger
import kotlin.concurrent.thread

/**
 * Checks connections by the connection manager: both ends in this process, on one thread, over the device's IP address.
 */
internal class ConnectionSpec :
    ContractSpec({
        case("should find the device of an address, and the route to it") {
            channels { channel, _ ->
                val id = channel.id(PortSpace.TCP)
                id.deviceName().shouldBeNull()
                id.port() shouldBe 0
                id.resolveAddress(at(7471), STEP_TIMEOUT)
                channel.expect(ADDR_RESOLVED).id() shouldBe id
                id.deviceName() shouldBe device.name
                id.port() shouldBe PORT
                id.localAddress()?.address?.hostAddress shouldBe ip
                id.peerAddress() shouldBe at(7471)
                id.describe() shouldBe "connection id (TCP) to $shownIp:7471"
            }
        }

        case("should connect two queue pairs with private data both ways, and carry messages") {
            channels { clients, servers ->
                val met = meet(clients, servers)
                met.request.words() shouldBe "from the client"
                met.answer.words() shouldBe "from the server"
                met.request.listener()?.isPassive shouldBe false
                met.server.isPassive shouldBe true
                met.server.deviceName() shouldBe device.name
                met.server.peerAddress() shouldBe met.client.localAddress()
                met.a.post { send(2).inline(pattern(20)).signaled() }
                met.a.cq.takeOne().shouldBeDone(2, SEND, met.a.qp)
                met.b.cq.takeOne().shouldBeDone(1, RECV, met.b.qp, bytes = 20)
                met.b.mr.bytes(20) shouldBe pattern(20)
            }
        }

        case("should take a connection as established when data has come before the peer's last message", RAW_CONNECT) {
            channels { clients, servers ->
                val (a, b) = end() to end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                val server = servers.expect(CONNECT_REQUEST).id()
                b.qp.prepare(server, INIT, RTR, RTS)
                server.accept(b.qp, ConnectionParameters.DEFAULTS)
                clients.expect(CONNECT_RESPONSE) // and it is not answered
                server.notifyOf(AsyncEventType.COMM_EST)
                servers.expect(ESTABLISHED).id() shouldBe server
            }
        }

        case("should let ids come and go while another thread takes the events") {
            channels { channel, _ ->
                val resolved = AtomicInteger()
                val taker =
                    thread {
                        try {
                            while (true) {
                                val event = channel.awaitEvent(STEP_TIMEOUT)?.orThrow()
                                if (event?.type() == ADDR_RESOLVED) resolved.incrementAndGet()
                            }
                        } catch (_: IllegalStateException) {
                            // the channel is closed
                        }
                    }
                repeat(300) { round ->
                    channel.id(PortSpace.TCP).use {
                        it.resolveAddress(at(7471), STEP_TIMEOUT)
                        if (round % 2 == 0) Thread.sleep(1)
                    }
                }
                val last = resolved.get()
                channel.id(PortSpace.TCP).resolveAddress(at(7471), STEP_TIMEOUT)
                await("the event of an id that stays") { resolved.get() > last }
                channel.close()
                taker.join()
            }
        }

        case("should grant the reads and atomics that both sides have for each other", RAW_CONNECT) {
            channels { clients, servers ->
                val (a, b) = end() to end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS.withReads(3, 5).withRetries(4, 2))
                val request = servers.expect(CONNECT_REQUEST)
                request.responderResources() shouldBe 5
                request.initiatorDepth() shouldBe 3
                request.retryCount() shouldBe 4
                request.rnrRetryCount() shouldBe 2
                request.queuePairNumber() shouldBe a.qp.number()
                b.qp.prepare(request.id(), INIT, RTR, RTS)
                request.id().accept(b.qp, ConnectionParameters.DEFAULTS.withReads(4, 2))
                val answer = clients.expect(CONNECT_RESPONSE)
                answer.responderResources() shouldBe 2
                answer.initiatorDepth() shouldBe 4
                answer.queuePairNumber() shouldBe b.qp.number()
                a.qp.prepare(client, RTR, RTS)
                val attributes = a.qp.query()
                attributes.state() shouldBe RTS
                attributes.destQpn() shouldBe b.qp.number()
                attributes.retryCount() shouldBe 4
            }
        }

        case("should serve many connections of one channel on one thread, and report each on its own id") {
            channels { clients, servers ->
                val listener = listener(servers)
                val cq = cq(512)
                val ends = List(10) { end(cq = cq) to end(cq = cq) }
                val ids = ends.map { clients.resolved(checkNotNull(listener.localAddress())) }
                ids.zip(ends).forEach { (id, pair) -> pair.first.qp.prepare(id, INIT) }
                ids.zip(ends).forEachIndexed { i, (id, pair) -> id.connect(pair.first.qp, words("$i")) }
                val requests = ids.map { servers.expect(CONNECT_REQUEST) }
                requests.map { it.words().toInt() }.sorted() shouldContainExactly ids.indices.toList()
                requests.forEach {
                    val qp = ends[it.words().toInt()].second.qp
                    qp.prepare(it.id(), INIT, RTR, RTS)
                    it.id().accept(qp, words("to ${it.words()}"))
                }
                ids.map { clients.next().orThrow() }.forEach {
                    it.words() shouldBe "to ${ids.indexOf(it.id())}"
                    if (it.type() == CONNECT_RESPONSE) {
                        ends[ids.indexOf(it.id())].first.qp.prepare(it.id(), RTR, RTS)
                        it.id().establish()
                    }
                }
                requests.map { servers.expect(ESTABLISHED).id() }.toSet() shouldBe requests.map { it.id() }.toSet()
            }
        }

        case("should tell the peer of a disconnect, and the asking side when the peer has answered") {
            channels { clients, servers ->
                val met = meet(clients, servers)
                met.client.disconnect()
                servers.expect(DISCONNECTED).id() shouldBe met.server
                if (!isIwarp) met.server.disconnect() // which ends both sides at once
                clients.expect(DISCONNECTED).id() shouldBe met.client
            }
        }

        case("should tell the peer when an id is closed") {
            channels { clients, servers ->
                val met = meet(clients, servers)
                met.server.close()
                clients.expect(DISCONNECTED).id() shouldBe met.client
            }
        }

        case("should tell a rejected client the reason, with the server's private data") {
            channels { clients, servers ->
                val a = end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                servers.expect(CONNECT_REQUEST).id().use { it.reject("no room".encodeToByteArray()) }
                val answer = clients.next()
                answer.words() shouldBe "no room"
                val rejected = shouldThrow<ConnectionRejectedException> { answer.orThrow() }
                rejected.privateData().decodeToString().trimEnd('\u0000') shouldBe "no room"
                rejected.step() shouldBe ConnectionStep.CONNECT
                rejected.message shouldStartWith "connecting to $shownIp:${client.peerAddress()?.port} failed: "
                if (!isIwarp) rejected.reason() shouldBe RejectReason.CONSUMER_DEFINED
            }
        }

        case("should tell each side what the other offers for enhanced connection establishment", RAW_CONNECT) {
            channels { clients, servers ->
                val (a, b) = end() to end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.options().localEce(Ece(0x2c9, 5, 0))
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                val server = servers.expect(CONNECT_REQUEST).id()
                server.options().remoteEce() shouldBe Ece(0x2c9, 5, 0)
                b.qp.prepare(server, INIT, RTR, RTS)
                server.options().localEce(Ece(0x2c9, 1, 0))
                server.accept(b.qp, ConnectionParameters.DEFAULTS)
                clients.expect(CONNECT_RESPONSE)
                client.options().remoteEce() shouldBe Ece(0x2c9, 1, 0)
                shouldThrow<RdmaSystemException> { client.options().localEce(Ece(0, 1, 0)) }.message shouldContain
                    "vendor must not be 0"
            }
        }

        case("should tell a client that its vendor options were rejected, with the server's private data") {
            channels { clients, servers ->
                val a = end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                servers.expect(CONNECT_REQUEST).id().use { it.rejectEce("without, please".encodeToByteArray()) }
                val answer = clients.next()
                answer.words() shouldBe "without, please"
                val rejected = shouldThrow<ConnectionRejectedException> { answer.orThrow() }
                if (!isIwarp) rejected.reason() shouldBe RejectReason.VENDOR_OPTION_NOT_SUPPORTED
            }
        }

        case("should tell a client that no service listens, by address and port") {
            channels { clients, _ ->
                val a = end()
                val client = clients.resolved(at(9))
                a.qp.prepare(client, INIT)
                val rejected =
                    shouldThrow<ConnectionRejectedException> {
                        client.connect(a.qp, ConnectionParameters.DEFAULTS) // iWARP knows at once
                        clients.next().orThrow()
                    }
                rejected.message shouldStartWith "connecting to $shownIp:9 failed: "
                rejected.message shouldContain "Nobody listens on that port of the peer"
                rejected.address() shouldBe at(9)
                if (!isIwarp) rejected.rawReason() shouldBe 8
            }
        }

        case("should reject a request whose id is closed") {
            channels { clients, servers ->
                val a = end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                servers.expect(CONNECT_REQUEST).id().close()
                shouldThrow<ConnectionRejectedException> { clients.next().orThrow() }
            }
        }

        case("should refuse steps that come too early, and name the missing step") {
            channels { channel, _ ->
                val id = channel.id(PortSpace.TCP)
                val qp = end().qp
                shouldThrow<RdmaSystemException> { id.connect(qp, ConnectionParameters.DEFAULTS) }.message shouldBe
                    "rdma_connect(TCP, no peer yet) failed: EINVAL (Invalid argument). The route must be resolved " +
                    "first (wait for " +
                    "ROUTE_RESOLVED). Private data of a request has at most 56 bytes on InfiniBand and RoCE, 180 for " +
                    "datagrams; reads " +
                    "and atomics are at most what the device can."
                shouldThrow<RdmaSystemException> { id.resolveRoute(STEP_TIMEOUT) }.message shouldContain
                    "wait for ADDR_RESOLVED"
                shouldThrow<RdmaSystemException> { id.accept(qp, ConnectionParameters.DEFAULTS) }.message shouldContain
                    "CONNECT_REQUEST"
                shouldThrow<RdmaSystemException> { id.reject(ByteArray(0)) }.message shouldContain "CONNECT_REQUEST"
                shouldThrow<RdmaSystemException> { id.establish() }.message shouldContain "CONNECT_RESPONSE"
                shouldThrow<RdmaSystemException> { id.disconnect() }.message shouldContain "isn't connected"
                shouldThrow<RdmaSystemException> { id.prepare(qp, INIT) }.message shouldContain "bound to a device"
            }
        }

        case("should refuse an address of another machine, and a port that is taken") {
            channels { channel, _ ->
                shouldThrow<RdmaSystemException> {
                    channel
                        .id(
                            PortSpace.TCP,
                        ).bind(InetSocketAddress("192.0.2.1", 7))
                }.message shouldBe
                    "rdma_bind_addr(192.0.2.1:7) failed: EADDRNOTAVAIL (Cannot assign requested address). It is no " +
                    "address of this " +
                    "machine (`ip addr` lists them), or another id has this port and has it on every address."
                val taken = checkNotNull(listener(channel).localAddress())
                shouldThrow<RdmaSystemException> { channel.id(PortSpace.TCP).bind(taken) }.message shouldContain
                    "EADDRINUSE (Address already in use). Another id has this port on this address"
            }
        }

        case("should refuse private data that the message can't carry", RAW_CONNECT) {
            channels { clients, servers ->
                val a = end()
                val client = clients.resolved(checkNotNull(listener(servers).localAddress()))
                a.qp.prepare(client, INIT)
                shouldThrow<RdmaSystemException> { client.connect(a.qp, words("x".repeat(57))) }.message shouldContain
                    "at most 56 bytes"
                client.connect(a.qp, words("x".repeat(56)))
                servers.expect(CONNECT_REQUEST).words() shouldBe "x".repeat(56)
            }
        }

        case("should listen on every device by the wildcard address") {
            channels { clients, servers ->
                val listener = servers.id(PortSpace.TCP)
                listener.bind(InetSocketAddress(if (device.isIpv6) "::" else "0.0.0.0", 0))
                listener.listen(1)
                listener.deviceName().shouldBeNull()
                val a = end()
                val client = clients.resolved(at(checkNotNull(listener.localAddress()).port))
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                servers.expect(CONNECT_REQUEST).id().deviceName() shouldBe device.name
            }
        }

        case("should close the ids of a channel with it, connected or not") {
            channels { clients, servers ->
                val met = meet(clients, servers)
                val more = List(3) { clients.id(PortSpace.TCP) }
                clients.close()
                (more + met.client).filter { it.isOpen }.shouldBeEmpty()
                servers.expect(DISCONNECTED).id() shouldBe met.server
                shouldThrow<IllegalStateException> { met.client.disconnect() }.message shouldStartWith
                    "connection id (TCP) to $shownIp:${met.server.localAddress()?.port} is closed"
                met.a.qp.isOpen shouldBe true
            }
        }

        case("should refuse a queue pair of another device than the id is bound to") {
            channels { channel, _ ->
                val other = devicesUnderTest.first { it.name != device.name }
                val id = channel.id(PortSpace.TCP)
                id.bind(Bench(other).use { it.at(0) })
                shouldThrow<IllegalArgumentException> {
                    id.connect(
                        end().qp,
                        ConnectionParameters.DEFAULTS,
                    )
                }.message shouldContain
                    "which is bound to ${other.name}: make the queue pair on that device"
            }
        }
    })
