package org.kverbs.embedded.cm

import org.kverbs.embedded.OpenLink
import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.internal.abi.AddressFamily
import org.kverbs.internal.abi.RdmaPortSpace
import org.kverbs.internal.abi.SockaddrIn
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_SHORT
import java.util.Random

internal const val MAD = 256
internal const val US = 0xffff_c612_0001
internal const val PEER = 0xffff_c612_0002
internal const val TCP_SERVICE = 0x0000_0000_0106_0000L + PORT
internal const val UDP_SERVICE = 0x0000_0000_0111_0000L + PORT

/**
 * A device with a connection manager that listens for connections and for datagrams, and a peer, in the same process or
 * [elsewhere], whose messages the spec writes.
 */
internal class RawPeer(
    seed: Long,
    elsewhere: Boolean = false,
    backlog: Int = 8,
    halfOpen: Int = 256,
) : AutoCloseable {
    val engine = Engine(true).also { it.onFailure { failure -> throw failure } }
    private val hca = Hca("spoken-to", 1, engine, Gids(0, US), 4096, Random(seed))
    val manager = EmbeddedConnectionManager(engine, Random(seed))
    val channel: Long
    val arena: Arena = Arena.ofConfined()
    private val payload = arena.allocate(MAD.toLong(), 8)

    /** The last messages that the device sent. */
    val answers = ArrayDeque<Message>()

    /** How many more datagrams may be sent; a further one fails at once. */
    var allowed = 0

    /** The number of open links. */
    var open = 0
        private set

    private val wire =
        object : OpenLink(1) {
            override fun open() = 0.also { open++ }

            override fun leadsToOtherProcesses() = elsewhere

            override fun send(packet: Packet) {
                check(allowed-- > 0) { "more datagrams were sent than one may cause" }
                val bytes = Memory.at(packet.payload, MAD.toLong()).toArray(JAVA_BYTE)
                answers += checkNotNull(Mad.decode(bytes)) { "the device sent what it can't read" }.message()
            }

            override fun close() {
                open--
            }
        }

    init {
        hca.connect(wire)
        manager.add(hca)
        manager.limitHalfOpen(halfOpen)
        channel = manager.createEventChannel()
        for (space in listOf(RdmaPortSpace.RDMA_PS_TCP, RdmaPortSpace.RDMA_PS_UDP)) {
            val listener = manager.createId(channel, space)
            check(manager.bindAddress(listener, address(0)) == 0 && manager.listen(listener, backlog) == 0)
        }
    }

    /** Returns a `struct sockaddr_in` with the listeners' port. */
    fun address(ip: Int): MemorySegment {
        val address = arena.allocate(SockaddrIn.SIZE.toLong(), 8)
        address.set(JAVA_SHORT, 0, AddressFamily.AF_INET.toShort())
        address.set(JAVA_SHORT, SockaddrIn.SIN_PORT.toLong(), java.lang.Short.reverseBytes(PORT.toShort()))
        address.set(JAVA_INT, SockaddrIn.SIN_ADDR.toLong(), Integer.reverseBytes(ip))
        return address
    }

    fun locked(action: () -> Unit) {
        engine.enter()
        try {
            action()
        } finally {
            engine.leave()
        }
    }

    /** Delivers a datagram to queue pair 1. */
    fun bring(
        bytes: ByteArray,
        from: Long = PEER,
        change: Packet.() -> Unit = {},
    ) {
        MemorySegment.copy(bytes, 0, payload, JAVA_BYTE, 0, MAD)
        val packet = Packet(0)
        packet.opcode = Opcode.UD_SEND_ONLY
        packet.pkey = 0xffff
        packet.destinationQp = 1
        packet.sourceQp = 1
        packet.qkey = 0x8001_0000.toInt()
        packet.sourceGidLow = from
        packet.destinationGidLow = US
        packet.payload = payload.address()
        packet.payloadLength = MAD
        packet.change()
        locked { hca.take(packet) }
    }

    /** Delivers a message, and returns the device's immediate answers. */
    fun say(
        message: Message,
        from: Long = PEER,
        change: Packet.() -> Unit = {},
    ): List<Message> {
        answers.clear()
        allowed = 2
        bring(Mad(1, message).encode(), from, change)
        return answers.toList()
    }

    override fun close() = arena.close()
}

/** Returns the header of the RDMA IP CM service for IPv4. */
internal fun header() = ByteArray(36).also { it[1] = 0x40 }

/** Returns a correct request. */
internal fun request(
    id: Int = 5,
    service: Long = TCP_SERVICE,
    caGuid: Long = 2,
    qpn: Int = 7,
    transport: Int = 0,
    mtu: Int = 5,
    path: Message.Path = Message.Path(0, PEER, 0, US, 0, 0, 0, 64, 17),
    data: ByteArray = header() + ByteArray(56),
) = Message.Req(
    id,
    service,
    caGuid,
    0,
    qpn,
    1,
    1,
    18,
    transport,
    false,
    99,
    18,
    7,
    0xffff,
    mtu,
    7,
    15,
    false,
    path,
    data,
)
