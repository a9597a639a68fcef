package org.kverbs.acceptance.lab

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.Capability.RAW_CONNECT
import org.kverbs.acceptance.contract.ContractSpec
import org.kverbs.acceptance.contract.STEP_TIMEOUT
import org.kverbs.acceptance.contract.addressOf
import org.kverbs.acceptance.contract.at
import org.kverbs.acceptance.contract.channel
import org.kverbs.acceptance.contract.channels
import org.kverbs.acceptance.contract.expect
import org.kverbs.acceptance.contract.ip
import org.kverbs.acceptance.contract.listener
import org.kverbs.acceptance.contract.meet
import org.kverbs.acceptance.contract.pattern
import org.kverbs.acceptance.contract.prepare
import org.kverbs.acceptance.contract.shouldBeDone
import org.kverbs.acceptance.contract.takeOne
import org.kverbs.attributes.QueuePairState.INIT
import org.kverbs.attributes.QueuePairState.RTR
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType
import org.kverbs.cm.AddressHints
import org.kverbs.cm.ConnectionEventType.ADDR_RESOLVED
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.CONNECT_RESPONSE
import org.kverbs.cm.ConnectionEventType.DISCONNECTED
import org.kverbs.cm.ConnectionEventType.ROUTE_RESOLVED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.net.Inet6Address
import java.net.InetSocketAddress
import java.net.StandardProtocolFamily
import java.time.Duration

private const val ALSO_OURS = "10.99.8.8"

/**
 * Checks features of librdmacm beyond the contract: options, IPv6, moving an id to another channel, addresses by name.
 */
internal class ConnectionOptionsSpec :
    ContractSpec({
        case("should put the type of service and the acknowledge timeout into the queue pair", RAW_CONNECT) {
            channels { clients, servers ->
                val (a, b) = end() to end()
                val client = clients.id(PortSpace.TCP)
                client.options().typeOfService(0x60)
                client.options().ackTimeout(16)
                client.resolveAddress(checkNotNull(listener(servers).localAddress()), STEP_TIMEOUT)
                clients.expect(ADDR_RESOLVED)
                client.resolveRoute(STEP_TIMEOUT)
                clients.expect(ROUTE_RESOLVED)
                a.qp.prepare(client, INIT)
                client.connect(a.qp, ConnectionParameters.DEFAULTS)
                val server = servers.expect(CONNECT_REQUEST).id()
                b.qp.prepare(server, INIT, RTR, RTS)
                server.accept(b.qp, ConnectionParameters.DEFAULTS)
                clients.expect(CONNECT_RESPONSE)
                a.qp.prepare(client, RTR, RTS)
                a.qp.query().timeout() shouldBe 16
                a.qp
                    .query()
                    .address()
                    .globalRoute()
                    .shouldNotBeNull()
                    .trafficClass() shouldBe 0x60
            }
        }

        case("should connect over IPv6, with the scope of a link-local address") {
            val local = addressOf<Inet6Address>(device.netdev)
            channels { clients, servers ->
                val met = meet(clients, servers, InetSocketAddress(local, 0))
                met.server.peerAddress() shouldBe met.client.localAddress()
                met.client.peerAddress()?.address shouldBe local
                met.a.post { send(2).inline(pattern(20)).signaled() }
                met.b.cq.takeOne().shouldBeDone(1, RECV, met.b.qp, bytes = 20)
            }
        }

        case("should let two ids share a port if both permit it") {
            channels { channel, _ ->
                val ids = List(2) { channel.id(PortSpace.TCP).also { id -> id.options().reuseAddress(true) } }
                ids[0].bind(at(0))
                ids[1].bind(checkNotNull(ids[0].localAddress()))
                ids[1].localAddress() shouldBe ids[0].localAddress()
            }
        }

        case("should leave IPv4 to another id if only IPv6 is requested") {
            channels { channel, _ ->
                for (alone in listOf(true, false)) {
                    val v6 = channel.id(PortSpace.TCP)
                    v6.options().addressFamilyOnly(alone)
                    v6.bind(InetSocketAddress("::", 0))
                    val v4 = channel.id(PortSpace.TCP)
                    val same = InetSocketAddress("0.0.0.0", checkNotNull(v6.localAddress()).port)
                    if (alone) {
                        v4.bind(same)
                    } else {
                        shouldThrow<RdmaSystemException> { v4.bind(same) }.message shouldContain
                            "has it on every address"
                    }
                }
            }
        }

        case("should take a path record instead of resolving the route") {
            channels { channel, _ ->
                val id = channel.id(PortSpace.TCP)
                id.resolveAddress(at(7471), STEP_TIMEOUT)
                channel.expect(ADDR_RESOLVED)
                id.options().path(ByteArray(64))
                channel.expect(ROUTE_RESOLVED).id() shouldBe id
                shouldThrow<IllegalArgumentException> { id.options().path(ByteArray(63)) }.message shouldBe
                    "a path record has 64 bytes, not 63"
                shouldThrow<RdmaSystemException> {
                    channel
                        .id(
                            PortSpace.TCP,
                        ).options()
                        .path(ByteArray(64))
                }.message shouldContain
                    "rdma_set_option(ib_path) failed: EINVAL (Invalid argument). The kernel or the device doesn't " +
                    "know the option"
            }
        }

        case("should move an id with its events to another channel, which owns it then") {
            channels { clients, servers ->
                val met = meet(clients, servers)
                channel().use { third ->
                    met.server.migrate(third)
                    met.server.channel() shouldBe third
                    met.client.disconnect()
                    third.expect(DISCONNECTED).id() shouldBe met.server
                    servers.awaitEvent(Duration.ZERO).shouldBeNull()
                    servers.close()
                    met.server.isOpen shouldBe true
                }
                met.server.isOpen shouldBe false
            }
        }

        case("should move an event that waits already") {
            channels { from, to ->
                val id = from.id(PortSpace.TCP)
                id.resolveAddress(at(7471), STEP_TIMEOUT)
                Thread.sleep(100) // nothing shows that the kernel has queued it
                id.migrate(to)
                to.expect(ADDR_RESOLVED).id() shouldBe id
                from.awaitEvent(Duration.ZERO).shouldBeNull()
            }
        }

        case("should find the addresses behind names") {
            channels { channel, _ ->
                val active = channel.addressInfo(ip, "7471", AddressHints.active(PortSpace.TCP))
                active.map { it.destination() } shouldContain at(7471)
                active.first().queuePairType() shouldBe QueuePairType.RC
                active.first().portSpace() shouldBe PortSpace.TCP
                val passive = channel.addressInfo(null, "7471", AddressHints.passive(PortSpace.UDP))
                passive.map { it.source() } shouldContain InetSocketAddress("0.0.0.0", 7471)
                passive.first().queuePairType() shouldBe QueuePairType.UD
                val numeric = AddressHints(PortSpace.TCP, false, true, true, StandardProtocolFamily.INET6, null)
                channel.addressInfo("::1", "7", numeric).first().destination() shouldBe InetSocketAddress("::1", 7)
                shouldThrow<RdmaSystemException> { channel.addressInfo("no.such.host", "7", numeric) }.message shouldBe
                    "rdma_getaddrinfo(no.such.host, 7) failed: ENOENT (No such file or directory). There is no such " +
                    "host or service: " +
                    "check the names, or give numbers."
            }
        }

        case("should come from the local address that the hints name, and from the usual one without") {
            ip("addr", "add", "$ALSO_OURS/32", "dev", device.netdev)
            try {
                channels { channel, _ ->
                    val hints = AddressHints.active(PortSpace.TCP)
                    val sources = mapOf(hints to ip, hints.from(InetSocketAddress(ALSO_OURS, 0)) to ALSO_OURS)
                    for ((asked, source) in sources) {
                        val found = channel.addressInfo(ip, "7471", asked).first()
                        found.source() shouldBe asked.source()
                        val id = channel.id(PortSpace.TCP)
                        id.resolveAddress(found, STEP_TIMEOUT)
                        channel.expect(ADDR_RESOLVED)
                        id.localAddress()?.address?.hostAddress shouldBe source
                        id.peerAddress() shouldBe at(7471)
                    }
                }
            } finally {
                ip("addr", "del", "$ALSO_OURS/32", "dev", device.netdev)
            }
        }
    })
