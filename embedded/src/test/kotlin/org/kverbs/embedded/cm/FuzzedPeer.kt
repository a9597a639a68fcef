package org.kverbs.embedded.cm

import org.kverbs.embedded.internal.cm.EmbeddedConnectionManager
import org.kverbs.embedded.internal.cm.InsideConnections
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.embedded.internal.device.Gids
import org.kverbs.embedded.internal.device.Hca
import org.kverbs.embedded.internal.device.Link
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.internal.abi.AddressFamily
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaCmEventType
import org.kverbs.internal.abi.RdmaConnParam
import org.kverbs.internal.abi.RdmaPortSpace
import org.kverbs.internal.abi.SockaddrIn
import org.kverbs.internal.ffm.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_SHORT
import kotlin.random.Random

private const val MAD = 256
private const val MAX_IDS = 40
private const val US = 0xffff_c612_0001
private const val PEER = 0xffff_c612_0002
private const val TCP_SERVICE = 0x0000_0000_0106_0000L + PORT
private const val UDP_SERVICE = 0x0000_0000_0111_0000L + PORT

/** A device with a connection manager that has users of every kind, and a peer that says anything to it. */
internal class FuzzedPeer(
    seed: Long,
) : AutoCloseable {
    private val random = Random(seed)
    private val engine = Engine(true)
    private val hca = Hca("fuzzed", 1, engine, Gids(0, US), 4096, java.util.Random(seed))
    private val manager = EmbeddedConnectionManager(engine, java.util.Random(seed))
    private val inside = InsideConnections(manager)
    private val arena = Arena.ofConfined()
    private val payload = arena.allocate(MAD.toLong(), 8)
    private val parameters = arena.allocate(RdmaConnParam.SIZE.toLong(), 8)
    private val said = ArrayDeque<Message>()
    private val ids = mutableListOf<Long>()
    private val channel: Long
    private val events = mutableMapOf<Int, Int>()
    private var open = 0

    /** How many more packets may be sent; one too many fails on the spot. */
    private var allowed = 0

    /** Datagrams that were sent to the device, and those that it sent. */
    var sent = 0
        private set
    var answers = 0
        private set

    private val wire =
        object : Link {
            override fun open() = 0.also { open++ }

            override fun send(packet: Packet) {
                check(allowed-- > 0) { "more datagrams were sent than one may cause" }
                answers++
                val bytes = Memory.at(packet.payload, MAD.toLong()).toArray(JAVA_BYTE)
                said += checkNotNull(Mad.decode(bytes)) { "the device sent what it can't read" }.message()
                if (said.size > 64) said.removeFirst()
            }

            override fun leadsTo(
                gidHigh: Long,
                gidLow: Long,
            ) = true

            override fun isUsualTo(
                gidHigh: Long,
                gidLow: Long,
            ) = true

            override fun carriesWholeMessages() = false

            override fun window() = 1

            override fun look() = Unit

            override fun joinGroup(
                gidHigh: Long,
                gidLow: Long,
            ) = 0

            override fun leaveGroup(
                gidHigh: Long,
                gidLow: Long,
            ) = Unit

            override fun close() {
                open--
            }
        }

    init {
        hca.connect(wire)
        manager.add(hca)
        channel = manager.createEventChannel()
        for (space in listOf(RdmaPortSpace.RDMA_PS_TCP, RdmaPortSpace.RDMA_PS_UDP)) {
            val listener = manager.createId(channel, space)
            check(manager.bindAddress(listener, address(0)) == 0 && manager.listen(listener, 8) == 0)
        }
    }

    private fun address(ip: Int): MemorySegment {
        val address = arena.allocate(SockaddrIn.SIZE.toLong(), 8)
        address.set(JAVA_SHORT, 0, AddressFamily.AF_INET.toShort())
        address.set(JAVA_SHORT, SockaddrIn.SIN_PORT.toLong(), java.lang.Short.reverseBytes(PORT.toShort()))
        address.set(JAVA_INT, SockaddrIn.SIN_ADDR.toLong(), Integer.reverseBytes(ip))
        return address
    }

    private val peerAddress = address(PEER.toInt())

    fun step() {
        allowed = 4
        when (random.nextInt(10)) {
            in 0..6 -> say()
            in 7..8 -> use()
            else -> pass(random.nextLong(3_000_000_000))
        }
        check(inside.connections <= MAX_IDS * 3) { "${inside.connections} connections" }
        check(inside.ways <= inside.connections * 2) { "connections are known that are gone" }
    }

    /** Lets time pass, in which any number of retries may be due. */
    private fun pass(nanos: Long) {
        allowed = 10_000
        locked { engine.advance(nanos) }
    }

    private fun locked(action: () -> Unit) {
        engine.enter()
        try {
            action()
        } finally {
            engine.leave()
        }
    }

    private fun say() {
        val bytes = Mad(random.nextLong(), message()).encode()
        if (random.nextBoolean()) mutate(bytes)
        MemorySegment.copy(bytes, 0, payload, JAVA_BYTE, 0, MAD)
        val packet = Packet(0)
        packet.opcode = Opcode.UD_SEND_ONLY
        packet.pkey = 0xffff
        packet.destinationQp = 1
        packet.sourceQp = 1
        packet.qkey = 0x8001_0000.toInt()
        packet.sourceGidLow = if (random.nextInt(50) == 0) PEER + 1 else PEER
        packet.destinationGidLow = US
        packet.payload = payload.address()
        packet.payloadLength = MAD
        sent++
        locked { hca.take(packet) }
    }

    private fun mutate(bytes: ByteArray) {
        repeat(random.nextInt(1, 9)) {
            // Most fields stand in the first half.
            val at = if (random.nextBoolean()) random.nextInt(MAD) else random.nextInt(0, 128)
            bytes[at] = if (random.nextBoolean()) random.nextInt().toByte() else (bytes[at].toInt() xor (1 shl random.nextInt(8))).toByte()
        }
    }

    /** A request, an answer to what the device said, or anything. */
    private fun message(): Message =
        when (random.nextInt(6)) {
            0 -> request()
            1 -> Message.SidrReq(random.nextInt(30), 0xffff, UDP_SERVICE, header() + ByteArray(180))
            2 -> random.messages().random(random)
            else -> said.randomOrNull(random)?.let(::answer) ?: request()
        }

    private fun header() = ByteArray(36).also { it[1] = 0x40 }

    private fun request() =
        Message.Req(
            random.nextInt(30),
            TCP_SERVICE,
            random.nextLong(2),
            0,
            random.nextInt(30),
            1,
            1,
            18,
            0,
            false,
            random.nextInt(1 shl 24),
            18,
            7,
            0xffff,
            5,
            7,
            15,
            false,
            Message.Path(0, PEER, 0, US, 0, 0, 0, 64, 17),
            header() + ByteArray(56),
        )

    private fun answer(to: Message): Message {
        val mine = random.nextInt(30)
        val data = ByteArray(0)

        fun any(
            id: Int,
            theirs: Int,
            qpn: Int,
        ): Message =
            when (random.nextInt(7)) {
                0 -> Message.Mra(id, theirs, random.nextInt(3), random.nextInt(32), data)
                1 -> Message.Rej(id, theirs, random.nextInt(3), random.nextInt(34), ByteArray(8), data)
                2 -> Message.Rtu(id, theirs, data)
                3 -> Message.Dreq(id, theirs, qpn, data)
                4 -> Message.Drep(id, theirs, data)
                5 -> Message.Lap(id, theirs)
                else -> Message.Rep(id, theirs, 0, random.nextInt(30), 1, 1, 1, 15, 0, false, 7, false, random.nextLong(2), data)
            }
        return when (to) {
            is Message.Req -> any(mine, to.localId(), to.qpn())
            is Message.Rep -> any(to.remoteId(), to.localId(), to.qpn())
            is Message.Rtu -> any(to.remoteId(), to.localId(), QPN)
            is Message.Dreq -> any(to.remoteId(), to.localId(), QPN)
            is Message.Mra -> any(to.remoteId(), to.localId(), QPN)
            is Message.SidrReq -> Message.SidrRep(to.requestId(), random.nextInt(3), QPN, to.service(), 1, data, data)
            else -> request()
        }
    }

    /** One thing that a user does. */
    private fun use() {
        val event = manager.awaitEvent(channel, 0)
        if (event > 0) {
            val fields = Memory.at(event, RdmaCmEvent.SIZE.toLong())
            val type = fields.get(JAVA_INT, RdmaCmEvent.EVENT.toLong())
            events.merge(type, 1, Int::plus)
            if (type == RdmaCmEventType.RDMA_CM_EVENT_CONNECT_REQUEST) ids += Memory.getLong(event)
            check(manager.ackEvent(event) == 0)
        }
        while (ids.size >= MAX_IDS) destroy()
        if (random.nextInt(4) == 0) ask()
        val id = ids.randomOrNull(random) ?: return
        parameters.set(JAVA_INT, RdmaConnParam.QP_NUM.toLong(), QPN)
        when (random.nextInt(10)) {
            in 0..2 -> manager.accept(id, parameters)
            in 3..5 -> manager.establish(id)
            6 -> manager.disconnect(id)
            7 -> manager.reject(id, payload.asSlice(0, 8))
            8 -> manager.notify(id, COMM_EST)
            else -> destroy()
        }
    }

    private fun ask() {
        val id = manager.createId(channel, if (random.nextBoolean()) RdmaPortSpace.RDMA_PS_TCP else RdmaPortSpace.RDMA_PS_UDP)
        ids += id
        check(manager.resolveAddress(id, null, peerAddress, 1) == 0)
        check(manager.resolveRoute(id, 1) == 0)
        parameters.set(JAVA_INT, RdmaConnParam.QP_NUM.toLong(), QPN)
        check(manager.connect(id, parameters) == 0)
    }

    private fun destroy() {
        check(manager.destroyId(ids.removeAt(random.nextInt(ids.size))) == 0)
    }

    /** How often each event came. */
    fun events(): Map<Int, Int> = events

    /** Closes all users and waits; gives what is left after that: objects, timers, open links. */
    fun leftovers(): List<Int> {
        allowed = 10_000
        check(manager.destroyEventChannel(channel) == 0)
        pass(HALF_A_DAY)
        return listOf(inside.all, inside.ways, engine.scheduled(), open)
    }

    override fun close() = arena.close()

    private companion object {
        const val QPN = 77
        const val COMM_EST = 4
        const val HALF_A_DAY = 12 * 3_600_000_000_000
    }
}
