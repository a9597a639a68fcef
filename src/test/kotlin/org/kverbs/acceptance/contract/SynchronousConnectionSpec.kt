package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.UnsupportedVerbException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.acceptance.contract.Capability.DATAGRAM
import org.kverbs.acceptance.contract.Capability.MULTICAST_ROUTE
import org.kverbs.acceptance.contract.Capability.PROGRAM_EVENTS
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.cm.AddressHints
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionEventType.ADDRINFO_RESOLVED
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.ESTABLISHED
import org.kverbs.cm.ConnectionEventType.USER
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.ConnectionRejectedException
import org.kverbs.cm.ConnectionTimeoutException
import org.kverbs.cm.PortSpace.TCP
import org.kverbs.cm.PortSpace.UDP
import org.kverbs.cm.SynchronousConnectionId
import java.net.InetSocketAddress
import java.time.Duration

/** Checks ids whose calls wait, and what librdmacm has since rdma-core 60. */
internal class SynchronousConnectionSpec :
    ContractSpec({
        case("should resolve, connect, accept and disconnect, each in one call") {
            val (a, b) = end() to end()
            synchronous().use { listener ->
                listener.id().bind(at(0))
                listener.id().listen(4)
                synchronous().use { client ->
                    client.request().shouldBeNull()
                    client.resolveAddress(checkNotNull(listener.id().localAddress()), STEP_TIMEOUT)
                    client.resolveRoute(STEP_TIMEOUT)
                    a.qp.prepare(client.id(), INIT)
                    val connecting = task { client.connect(a.qp, words("to the server"), LIMIT) }
                    listener.awaitRequest(LIMIT).use { server ->
                        server.request().shouldNotBeNull().words() shouldBe "to the server"
                        b.qp.prepare(server.id(), INIT)
                        b.qp.postReceive(1, b.mr.slice())
                        server.accept(b.qp, words("to the client"), LIMIT)
                        connecting.get().words() shouldBe "to the client"
                        a.post { send(2).inline(pattern(20)).signaled() }
                        a.cq.takeOne().shouldBeDone(2, SEND, a.qp)
                        b.cq.takeOne().shouldBeDone(1, RECV, b.qp, bytes = 20)
                        val ending = task { client.disconnect(LIMIT) }
                        server.awaitEnd(LIMIT) shouldBe true
                        server.disconnect(LIMIT) shouldBe true // which answers the peer
                        if (!isIwarp) server.id().disconnect()
                        ending.get() shouldBe true
                    }
                }
            }
        }

        case("should end each step after its timeout, and when it is closed") {
            synchronous().use { listener ->
                listener.id().bind(at(0))
                listener.id().listen(4)
                shouldThrow<ConnectionTimeoutException> { listener.awaitRequest(SHORT) }
                val (first, second) = List(2) { task { listener.awaitRequest(LIMIT) } }
                first.hasBegunToWait()
                shouldThrow<ConnectionTimeoutException> { listener.awaitRequest(SHORT) } // it is not its turn
                listener.close()
                listOf(first, second).forEach { shouldThrow<IllegalStateException> { it.get() } }
            }
            synchronous().use { id ->
                val limit = Duration.ofMillis(1)
                shouldThrow<ConnectionException> { id.resolveAddress(nowhere(), STEP_TIMEOUT) }
                shouldThrow<RdmaSystemException> { id.resolveRoute(limit) }.message shouldContain
                    "wait for ADDR_RESOLVED"
                shouldThrow<RdmaSystemException> { id.disconnect(limit) }.message shouldContain "isn't connected"
            }
        }

        case("should not await the end of an id that listens, and keep the requests to it") {
            synchronous().use { listener ->
                listener.awaitEnd(Duration.ZERO) shouldBe false
                listener.id().bind(at(0))
                listener.id().listen(4)
                synchronous().use { client ->
                    client.resolveAddress(checkNotNull(listener.id().localAddress()), STEP_TIMEOUT)
                    client.resolveRoute(STEP_TIMEOUT)
                    val a = end()
                    a.qp.prepare(client.id(), INIT)
                    val connecting = task { client.connect(a.qp, words("hello"), LIMIT) }
                    shouldThrow<IllegalStateException> { listener.awaitEnd(SHORT) }.message shouldContain
                        "listens, so it has no connection whose end can be awaited"
                    listener.awaitRequest(LIMIT).use { it.id().reject(words("no").privateData()) }
                    shouldThrow<ConnectionRejectedException> { connecting.get() }
                }
            }
        }

        case("should go from a channel to none and back, with the events that wait for it") {
            channels { channel, servers ->
                val listener = listener(servers)
                val id = channel.id(TCP)
                id.resolveAddress(checkNotNull(listener.localAddress()), STEP_TIMEOUT)
                channel.expect(ADDR_RESOLVED)
                val alone = SynchronousConnectionId.of(id)
                alone.id() shouldBe id
                (id.channel() == channel) shouldBe false
                alone.resolveRoute(STEP_TIMEOUT)
                val a = end()
                a.qp.prepare(id, INIT)
                shouldThrow<ConnectionTimeoutException> { alone.connect(a.qp, words("slow"), SHORT) }
                alone.migrate(channel) shouldBe id
                id.channel() shouldBe channel
                servers.expect(CONNECT_REQUEST).id().close()
                shouldThrow<ConnectionRejectedException> { channel.next().orThrow() }
                shouldThrow<IllegalStateException> { alone.migrate(channel) }
                alone.close()
                id.isOpen shouldBe true
            }
        }

        case("should accept a request on a channel, and have the connection in calls that wait") {
            channels { _, servers ->
                val (a, b) = end() to end()
                val address = checkNotNull(listener(servers).localAddress())
                synchronous().use { client ->
                    client.resolveAddress(address, STEP_TIMEOUT)
                    client.resolveRoute(STEP_TIMEOUT)
                    a.qp.prepare(client.id(), INIT)
                    val connecting = task { client.connect(a.qp, ConnectionParameters.DEFAULTS, LIMIT) }
                    val server = SynchronousConnectionId.of(servers.expect(CONNECT_REQUEST).id())
                    b.qp.prepare(server.id(), INIT)
                    server.accept(b.qp, ConnectionParameters.DEFAULTS, LIMIT)
                    connecting.get()
                    val event = task { servers.awaitEvent(SHORT) }
                    server.close()
                    client.awaitEnd(LIMIT) shouldBe true
                    event.get().shouldBeNull() // the channel has nothing to do with the connection
                }
            }
        }

        case("should ask for a datagram service, and be asked", DATAGRAM) {
            val (a, b) = end(UD) to end(UD)
            synchronous(UDP).use { listener ->
                listener.id().bind(at(0))
                listener.id().listen(4)
                synchronous(UDP).use { client ->
                    client.resolveAddress(null, checkNotNull(listener.id().localAddress()), STEP_TIMEOUT)
                    client.resolveRoute(STEP_TIMEOUT)
                    a.qp.prepare(client.id(), INIT)
                    val asking = task { client.connect(a.qp, words("who is there"), LIMIT) }
                    listener.awaitRequest(LIMIT).use { server ->
                        b.qp.prepare(server.id(), INIT)
                        b.qp.postReceive(7, b.mr.slice())
                        server.accept(b.qp, words("it is me"), LIMIT)
                        val answer = asking.get()
                        answer.type() shouldBe ESTABLISHED
                        answer.words() shouldBe "it is me"
                        send(a, answer)
                        b.cq.takeOne().shouldBeDone(7, RECV, b.qp, bytes = GRH_BYTES + 12)
                    }
                }
            }
        }

        case("should join a multicast group in one call", MULTICAST_ROUTE, DATAGRAM) {
            synchronous(UDP).use { id ->
                id.id().bind(at(0))
                val group = InetSocketAddress(drawnGroup(), 0)
                val joined = id.joinMulticast(group, true, LIMIT)
                joined.address().shouldNotBeNull()
                id.id().leaveMulticast(group)
                shouldThrow<IllegalArgumentException> { id.joinMulticast(at(0), true, LIMIT) }
            }
        }

        case("should name the devices that ids can be bound to") {
            channel().use { channel ->
                channel.devices().map { it.name() } shouldContain device.name
                channel.devices().first { it.name() == device.name }.guid() shouldBe context.device().guid()
            }
        }

        case("should carry events of the program to the thread that waits, among those of the id", PROGRAM_EVENTS) {
            channels { channel, _ ->
                val id = channel.id(TCP)
                val waiting = task { channel.next() }.hasBegunToWait()
                id.writeEvent(-5, Long.MIN_VALUE + 1)
                val event = waiting.get().orThrow()
                event.type() shouldBe USER
                event.id() shouldBe id
                event.status() shouldBe -5
                event.argument() shouldBe Long.MIN_VALUE + 1
                event.privateData().size shouldBe 0
                id.resolveAddress(at(7471), STEP_TIMEOUT)
                id.writeEvent(0, 1)
                channel.expect(ADDR_RESOLVED).argument() shouldBe 0
                channel.expect(USER).argument() shouldBe 1
            }
        }

        case("should find addresses with an event as the answer, and give them away once", PROGRAM_EVENTS) {
            channels { channel, _ ->
                val id = channel.id(TCP)
                val lookup = id.addressLookup()
                shouldThrow<RdmaSystemException> { lookup.query() }.message shouldContain "wait for ADDRINFO_RESOLVED"
                lookup.resolve(ip, "7471", AddressHints.active(TCP))
                shouldThrow<RdmaSystemException> {
                    lookup.resolve(ip, "7471", AddressHints.active(TCP))
                }.message shouldContain "query them first"
                channel.expect(ADDRINFO_RESOLVED).id() shouldBe id
                lookup.query().first().destination() shouldBe at(7471)
                shouldThrow<RdmaSystemException> { lookup.query() }.errnoName() shouldBe "ENOENT"
                shouldThrow<RdmaSystemException> {
                    lookup.resolve("nobody.invalid", "7471", AddressHints.active(TCP))
                }.message shouldContain "There is no such host or service"
                lookup.resolve(ip, "7471", AddressHints.active(TCP)) // which nobody queries
                id.close()
                shouldThrow<IllegalStateException> { lookup.query() }
            }
        }

        if (PROGRAM_EVENTS !in device.capabilities) {
            case("should name the release that has events of programs and look-ups by an id") {
                channels { channel, _ ->
                    val id = channel.id(TCP)
                    val calls =
                        mapOf(
                            "rdma_write_cm_event" to { id.writeEvent(0, 0) },
                            "rdma_resolve_addrinfo" to
                                { id.addressLookup().resolve(ip, null, AddressHints.active(TCP)) },
                            "rdma_query_addrinfo" to { id.addressLookup().query() },
                        )
                    for ((name, call) in calls) {
                        val missing = shouldThrow<UnsupportedVerbException> { call() }
                        missing.operation() shouldBe name
                        missing.message shouldContain "since rdma-core 60"
                    }
                }
            }
        }
    })

private val SHORT = Duration.ofMillis(300)
private val LIMIT = Duration.ofSeconds(20)

/** An address that no device leads to: of another family than the device's, or of no network. */
private fun Bench.nowhere() = InetSocketAddress(if (device.isIpv6) "2001:db8::1" else "192.0.2.1", 7471)

private fun Bench.send(
    from: End,
    to: ConnectionEvent,
) {
    val address = pd.addressHandle(to.address().shouldNotBeNull())
    from.post { send(1).inline(pattern(12)).to(address, to.queuePairNumber(), to.qkey()).signaled() }
    from.cq.takeOne().shouldBeDone(1, SEND, from.qp)
}
