package org.kverbs.embedded.cm

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.RdmaSystemException
import org.kverbs.cm.AddressHints
import org.kverbs.cm.ConnectionEventType.ADDR_ERROR
import org.kverbs.cm.ConnectionEventType.CONNECT_REQUEST
import org.kverbs.cm.ConnectionEventType.REJECTED
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.net.InetAddress
import java.net.InetSocketAddress
import java.time.Duration

private const val EINVAL = 22
private const val ENOENT = 2
private const val EADDRINUSE = 98
private const val EADDRNOTAVAIL = 99
private const val EHOSTUNREACH = 113

private fun at(
    address: String,
    port: Int = PORT,
) = InetSocketAddress(InetAddress.ofLiteral(address), port)

private fun errno(action: () -> Unit): Int = shouldThrow<RdmaSystemException> { action() }.errno()

class AddressSpec :
    FunSpec({
        test("should bind to a device by its address, and to none by a wildcard") {
            Parties().use { (client) ->
                client.id().also { it.bind(at("198.18.0.2")) }.deviceName() shouldBe "embedded1"
                client.id().also { it.bind(at("0.0.0.0", 1)) }.deviceName() shouldBe null
                client.id().also { it.bind(at("fe80::200:ff:fe00:1")) }.deviceName() shouldBe "embedded0"
                errno { client.id().bind(at("198.18.0.3")) } shouldBe EADDRNOTAVAIL
                errno { client.id().bind(at("10.0.0.1")) } shouldBe EADDRNOTAVAIL
                val bound = client.id().also { it.bind(at("198.18.0.1", 9)) }
                errno { bound.bind(at("198.18.0.1", 10)) } shouldBe EINVAL
            }
        }

        test("should give a free port for port 0, another one each time") {
            Parties().use { (client) ->
                val ports = List(100) { client.id().also { it.bind(at("0.0.0.0", 0)) }.localAddress()!!.port }
                ports.toSet().size shouldBe 100
                ports.min() shouldBeGreaterThan 32767
            }
        }

        test("should refuse a port that another id has at the same address, until that is closed") {
            Parties().use { (client) ->
                val first = client.id().also { it.bind(at("198.18.0.1")) }
                errno { client.id().bind(at("198.18.0.1")) } shouldBe EADDRINUSE
                errno { client.id().bind(at("0.0.0.0")) } shouldBe EADDRINUSE
                errno { client.id().bind(at("::")) } shouldBe EADDRINUSE
                client.id().bind(at("198.18.0.2"))
                client.id(PortSpace.UDP).bind(at("198.18.0.1"))
                first.close()
                client.id().bind(at("198.18.0.1"))
            }
        }

        test("should share a port among ids with REUSEADDR, of which one may listen") {
            Parties().use { (client) ->
                val (one, other) = List(2) { client.id().also { it.options().reuseAddress(true) } }
                one.bind(at("198.18.0.1"))
                other.bind(at("198.18.0.1"))
                errno { client.id().bind(at("198.18.0.1")) } shouldBe EADDRINUSE
                one.listen(1)
                errno { other.listen(1) } shouldBe EADDRINUSE
            }
        }

        test("should listen on IPv6 alone if that is asked for") {
            Parties().use { (client, server) ->
                val six = server.id().also { it.options().addressFamilyOnly(true) }
                six.bind(at("::"))
                six.listen(1)
                client.resolve(at("198.18.0.2")).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                client.expect(REJECTED).status() shouldBe 8
                server.id().also { it.bind(at("0.0.0.0")) }.listen(1)
                client.resolve(at("fe80::200:ff:fe00:2")).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                server.expect(CONNECT_REQUEST).listener() shouldBe six
            }
        }

        test("should prefer a listener at the exact address to one at the wildcard address") {
            Parties().use { (client, server) ->
                val all = List(2) { server.id().also { it.options().reuseAddress(true) } }
                all[0].bind(at("0.0.0.0"))
                all[1].bind(at("198.18.0.2"))
                all[0].listen(1)
                // Two listeners at one port need addresses that do not overlap.
                errno { all[1].listen(1) } shouldBe EADDRINUSE
                client.resolve(at("198.18.0.1")).connect(client.end.qp, ConnectionParameters.DEFAULTS)
                server.expect(CONNECT_REQUEST).listener() shouldBe all[0]
            }
        }

        test("should find the way to another device, and to its own, with the source's address") {
            Parties().use { (client) ->
                val other = client.resolve(at("198.18.0.2"))
                other.deviceName() shouldBe "embedded0"
                other.localAddress()!!.address shouldBe InetAddress.ofLiteral("198.18.0.1")
                other.peerAddress() shouldBe at("198.18.0.2")
                val own = client.id().also { it.bind(at("198.18.0.2", 0)) }
                own.resolveAddress(at("198.18.0.1"), Duration.ofSeconds(1))
                client.channel.awaitEvent(Duration.ZERO).shouldNotBeNull()
                own.deviceName() shouldBe "embedded1"
            }
        }

        test("should take loopback and wildcard addresses for the first device's, on both families") {
            for (address in listOf("127.0.0.1", "::1", "0.0.0.0", "::")) {
                Parties().use { (client) ->
                    client.id().also { it.bind(at("::")) }.listen(1)
                    val asking = client.resolve(at(address))
                    asking.deviceName() shouldBe "embedded0"
                    asking.connect(client.end.qp, ConnectionParameters.DEFAULTS)
                    val request = client.expect(CONNECT_REQUEST)
                    request.id().deviceName() shouldBe "embedded0"
                    request.id().localAddress()!!.address.isLoopbackAddress shouldBe true
                }
            }
        }

        test("should answer ADDR_ERROR for an address that no device leads to, and let the id ask for another") {
            Parties().use { (client) ->
                val id = client.id()
                id.resolveAddress(at("198.18.0.9"), Duration.ofSeconds(1))
                client.expect(ADDR_ERROR).status() shouldBe -EHOSTUNREACH
                id.resolveAddress(at("198.18.0.2"), Duration.ofSeconds(1))
                client.channel.awaitEvent(Duration.ZERO).shouldNotBeNull()
                errno { id.resolveAddress(at("198.18.0.2"), Duration.ofSeconds(1)) } shouldBe EINVAL
            }
        }

        test("should refuse steps in the wrong order") {
            Parties().use { (client) ->
                errno { client.id().resolveRoute(Duration.ofSeconds(1)) } shouldBe EINVAL
                errno { client.id().connect(client.end.qp, ConnectionParameters.DEFAULTS) } shouldBe EINVAL
                errno { client.id().accept(client.end.qp, ConnectionParameters.DEFAULTS) } shouldBe EINVAL
                errno { client.id().establish() } shouldBe EINVAL
                errno { client.id().disconnect() } shouldBe EINVAL
                errno { client.listen().listen(1) } shouldBe EINVAL
                val id = client.resolve(at("198.18.0.2"))
                val tooMuch = ConnectionParameters.DEFAULTS.withPrivateData(ByteArray(57))
                errno { id.connect(client.end.qp, tooMuch) } shouldBe EINVAL
                errno { id.connect(client.end.qp, ConnectionParameters.DEFAULTS.withReads(129, 1)) } shouldBe EINVAL
            }
        }

        test("should connect from the local address of the hints, of either family") {
            for ((source, destination) in listOf(
                "198.18.0.2" to "198.18.0.1",
                "fe80::200:ff:fe00:2" to "fe80::200:ff:fe00:1",
            )) {
                Parties().use { (client) ->
                    val hints = AddressHints.active(PortSpace.TCP).from(at(source, 0))
                    val found = client.channel.addressInfo(destination, "$PORT", hints).first()
                    found.source() shouldBe at(source, 0)
                    found.destination() shouldBe at(destination)
                    val id = client.id()
                    id.resolveAddress(found, Duration.ofSeconds(1))
                    client.channel.awaitEvent(Duration.ZERO).shouldNotBeNull()
                    id.deviceName() shouldBe "embedded1"
                }
            }
        }

        test("should find hosts and services by name") {
            Parties().use { (client) ->
                val found = client.channel.addressInfo("localhost", "$PORT", AddressHints.active(PortSpace.TCP))
                found.first().destination()!!.address.isLoopbackAddress shouldBe true
                found.first().destination()!!.port shouldBe PORT
                found.first().source() shouldBe null
                errno {
                    client.channel.addressInfo(
                        "no-such-host.invalid",
                        "1",
                        AddressHints.active(PortSpace.TCP),
                    )
                } shouldBe
                    ENOENT
            }
        }
    })
