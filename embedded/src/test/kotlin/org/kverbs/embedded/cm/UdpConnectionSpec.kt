package org.kverbs.embedded.cm

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.udp.UdpPort
import org.kverbs.embedded.loopbackAddresses
import org.kverbs.internal.abi.AddressFamily
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaCmEventType
import org.kverbs.internal.abi.RdmaConnParam
import org.kverbs.internal.abi.RdmaPortSpace
import org.kverbs.internal.abi.SockaddrIn
import org.kverbs.internal.memory.Memory
import org.kverbs.spi.ConnectionManager
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_SHORT
import java.net.InetAddress
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.util.Random

private const val LIMIT = 20_000_000_000

/** A connection manager with one device on UDP, as in another process: it shares only the wire with the other. */
private class Machine(
    address: InetAddress,
) : AutoCloseable {
    private val engine = Engine(false)
    val manager: ConnectionManager
    val channel: Long

    init {
        val random = Random()
        val hca = Hca(address.hostAddress, random.nextLong(), engine, UdpPort.gids(address), 1024, random)
        hca.connect(UdpPort(hca, address, true))
        manager = EmbeddedConnectionManager(engine, random).also { it.add(hca) }
        channel = manager.createEventChannel()
    }

    /** Waits for an event of a type; returns its id. */
    fun expect(type: Int): Long {
        val event = manager.awaitEvent(channel, LIMIT)
        check(event > 0) { "no event within 20 s" }
        val fields = Memory.at(event, RdmaCmEvent.SIZE.toLong())
        fields.get(JAVA_INT, RdmaCmEvent.EVENT.toLong()) shouldBe type
        return Memory.getLong(event).also { manager.ackEvent(event) shouldBe 0 }
    }

    override fun close() {
        manager.destroyEventChannel(channel)
        engine.close()
    }
}

private fun Arena.address(
    address: InetAddress,
    port: Int,
): MemorySegment {
    val bytes = allocate(SockaddrIn.SIZE.toLong(), 8)
    bytes.set(JAVA_SHORT, 0, AddressFamily.AF_INET.toShort())
    bytes.set(JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN), SockaddrIn.SIN_PORT.toLong(), port.toShort())
    bytes.set(
        JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN),
        SockaddrIn.SIN_ADDR.toLong(),
        ByteBuffer.wrap(address.address).getInt(),
    )
    return bytes
}

class UdpConnectionSpec :
    FunSpec({
        test("should connect and disconnect two devices over UDP, by addresses of the loopback network") {
            val (one, other) = loopbackAddresses(2).map(InetAddress::ofLiteral)
            Arena.ofConfined().use { arena ->
                Machine(one).use { client ->
                    Machine(other).use { server ->
                        val parameters = arena.allocate(RdmaConnParam.SIZE.toLong(), 8)
                        val listener = server.manager.createId(server.channel, RdmaPortSpace.RDMA_PS_TCP)
                        server.manager.bindAddress(listener, arena.address(other, PORT)) shouldBe 0
                        server.manager.listen(listener, 1) shouldBe 0
                        val asking = client.manager.createId(client.channel, RdmaPortSpace.RDMA_PS_TCP)
                        client.manager.resolveAddress(asking, null, arena.address(other, PORT), 1000) shouldBe 0
                        client.expect(RdmaCmEventType.RDMA_CM_EVENT_ADDR_RESOLVED)
                        client.manager.deviceName(asking).shouldNotBeNull() shouldBe one.hostAddress
                        client.manager.resolveRoute(asking, 1000) shouldBe 0
                        client.expect(RdmaCmEventType.RDMA_CM_EVENT_ROUTE_RESOLVED)
                        client.manager.connect(asking, parameters) shouldBe 0
                        val asked = server.expect(RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST)
                        server.manager.accept(asked, parameters) shouldBe 0
                        client.expect(RdmaCmEventType.RDMA_CM_EVENT_CONNECT_RESPONSE)
                        client.manager.establish(asking) shouldBe 0
                        server.expect(RdmaCmEventType.RDMA_CM_EVENT_ESTABLISHED)
                        server.manager.disconnect(asked) shouldBe 0
                        client.expect(RdmaCmEventType.RDMA_CM_EVENT_DISCONNECTED)
                        client.manager.disconnect(asking) shouldBe 0
                        server.expect(RdmaCmEventType.RDMA_CM_EVENT_DISCONNECTED)
                        client.expect(RdmaCmEventType.RDMA_CM_EVENT_TIMEWAIT_EXIT)
                        server.expect(RdmaCmEventType.RDMA_CM_EVENT_TIMEWAIT_EXIT)
                    }
                }
            }
        }
    })
