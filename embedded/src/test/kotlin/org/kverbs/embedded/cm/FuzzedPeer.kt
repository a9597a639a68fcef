package org.kverbs.embedded.cm

import org.kverbs.embedded.internal.cm.InsideConnections
import org.kverbs.embedded.internal.cm.Mad
import org.kverbs.embedded.internal.cm.Message
import org.kverbs.internal.abi.RdmaCmEvent
import org.kverbs.internal.abi.RdmaCmEventType
import org.kverbs.internal.abi.RdmaConnParam
import org.kverbs.internal.abi.RdmaPortSpace
import org.kverbs.internal.memory.Memory
import java.lang.foreign.ValueLayout.JAVA_INT
import kotlin.random.Random

private const val MAX_IDS = 40

/**
 * A peer that sends random messages to a device with a connection manager, which has users of every kind that act at
 * random.
 */
internal class FuzzedPeer(
    seed: Long,
) : AutoCloseable {
    private val random = Random(seed)
    private val raw = RawPeer(seed)
    private val manager = raw.manager
    private val channel = raw.channel
    private val inside = InsideConnections(manager)
    private val parameters = raw.arena.allocate(RdmaConnParam.SIZE.toLong(), 8)
    private val peerAddress = raw.address(PEER.toInt())
    private val said = ArrayDeque<Message>()
    private val ids = mutableListOf<Long>()
    private val events = mutableMapOf<Int, Int>()

    /** The number of datagrams sent to the device, and sent by it. */
    var sent = 0
        private set
    var answers = 0
        private set

    fun step() {
        raw.allowed = 4
        when (random.nextInt(10)) {
            in 0..6 -> say()
            in 7..8 -> use()
            else -> pass(random.nextLong(3_000_000_000))
        }
        answers += raw.answers.size
        said += raw.answers
        raw.answers.clear()
        while (said.size > 64) said.removeFirst()
        check(inside.connections <= MAX_IDS * 3) { "${inside.connections} connections" }
        check(inside.ways <= inside.connections * 2) { "connections are known that are gone" }
    }

    /** Lets time pass, in which any number of retries may be due. */
    private fun pass(nanos: Long) {
        raw.allowed = 10_000
        raw.locked { raw.engine.advance(nanos) }
    }

    private fun say() {
        val bytes = Mad(random.nextLong(), message()).encode()
        if (random.nextBoolean()) mutate(bytes)
        sent++
        raw.bring(bytes, if (random.nextInt(50) == 0) PEER + 1 else PEER)
    }

    private fun mutate(bytes: ByteArray) {
        repeat(random.nextInt(1, 9)) {
            // Most fields stand in the first half.
            val at = if (random.nextBoolean()) random.nextInt(MAD) else random.nextInt(0, 128)
            bytes[at] =
                if (random.nextBoolean()) {
                    random.nextInt().toByte()
                } else {
                    (
                        bytes[at].toInt() xor
                            (1 shl random.nextInt(8))
                    ).toByte()
                }
        }
    }

    /** Makes a request, an answer to a message of the device, or random bytes. */
    private fun message(): Message =
        when (random.nextInt(6)) {
            0 -> request()
            1 -> Message.SidrReq(random.nextInt(30), 0xffff, UDP_SERVICE, header() + ByteArray(180))
            2 -> random.messages().random(random)
            else -> said.randomOrNull(random)?.let(::answer) ?: request()
        }

    private fun request() = request(random.nextInt(30), caGuid = random.nextLong(2), qpn = random.nextInt(30))

    private fun answer(to: Message): Message {
        val mine = random.nextInt(30)
        val data = ByteArray(0)

        fun any(
            id: Int,
            theirs: Int,
            qpn: Int,
        ): Message =
            when (random.nextInt(7)) {
                0 -> {
                    Message.Mra(id, theirs, random.nextInt(3), random.nextInt(32), data)
                }

                1 -> {
                    Message.Rej(id, theirs, random.nextInt(3), random.nextInt(34), ByteArray(8), data)
                }

                2 -> {
                    Message.Rtu(id, theirs, data)
                }

                3 -> {
                    Message.Dreq(id, theirs, qpn, data)
                }

                4 -> {
                    Message.Drep(id, theirs, data)
                }

                5 -> {
                    Message.Lap(id, theirs)
                }

                else -> {
                    Message.Rep(
                        id,
                        theirs,
                        0,
                        random.nextInt(30),
                        1,
                        1,
                        1,
                        15,
                        0,
                        false,
                        7,
                        false,
                        random.nextLong(2),
                        data,
                    )
                }
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

    /** Lets a user do one random action. */
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
            7 -> manager.reject(id, parameters.asSlice(0, 8))
            8 -> manager.notify(id, COMM_EST)
            else -> destroy()
        }
    }

    private fun ask() {
        val id =
            manager.createId(
                channel,
                if (random.nextBoolean()) RdmaPortSpace.RDMA_PS_TCP else RdmaPortSpace.RDMA_PS_UDP,
            )
        ids += id
        check(manager.resolveAddress(id, null, peerAddress, 1) == 0)
        check(manager.resolveRoute(id, 1) == 0)
        parameters.set(JAVA_INT, RdmaConnParam.QP_NUM.toLong(), QPN)
        check(manager.connect(id, parameters) == 0)
    }

    private fun destroy() {
        check(manager.destroyId(ids.removeAt(random.nextInt(ids.size))) == 0)
    }

    /** Returns how often each event came. */
    fun events(): Map<Int, Int> = events

    /** Closes all users and waits; returns the remaining objects, timers and open links. */
    fun leftovers(): List<Int> {
        raw.allowed = 10_000
        check(manager.destroyEventChannel(channel) == 0)
        pass(HALF_A_DAY)
        return listOf(inside.all, inside.ways, raw.engine.scheduled(), raw.open)
    }

    override fun close() = raw.close()

    private companion object {
        const val QPN = 77
        const val COMM_EST = 4
        const val HALF_A_DAY = 12 * 3_600_000_000_000
    }
}
