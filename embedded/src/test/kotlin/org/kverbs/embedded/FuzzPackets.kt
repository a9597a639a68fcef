package org.kverbs.embedded

import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import org.kverbs.embedded.wire.PcapFile
import org.kverbs.embedded.wire.knownOpcodes
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import kotlin.random.Random

private const val OLD = 64
private val MEAN_LENGTHS = intArrayOf(0, 1, -1, Int.MIN_VALUE, Int.MIN_VALUE + 1, Int.MAX_VALUE, 1 shl 24, -256)
private val MEAN_ADDRESSES = longArrayOf(0, -1, -4096, Long.MIN_VALUE, Long.MAX_VALUE, 1)

/**
 * Makes packets close to what a queue pair expects: captured packets with a new destination and new memory, which are
 * then damaged.
 */
internal class FuzzPackets(
    private val queuePairs: List<FuzzQueuePair>,
    private val memory: FuzzMemory,
    private val random: Random,
) {
    private val seeds: Map<Int, List<ByteArray>> =
        PcapFile.names
            .flatMap(PcapFile::frames)
            .map { it.udpPayload.copyOf(it.length) }
            .groupBy { Opcode.transport(it[0].toInt() and 0xff) }
    private val wire = Arena.ofAuto().allocate(Packet.BUFFER_SIZE.toLong(), 64)
    private val payload = Arena.ofAuto().allocate(PacketCodec.MAX_PAYLOAD.toLong(), 64)
    private val old = Array(OLD) { ByteArray(0) }
    private var made = 0

    /** The packet; undefined if [next] returned false. */
    val packet = Packet(0)

    init {
        MemorySegment.copy(random.nextBytes(PacketCodec.MAX_PAYLOAD), 0, payload, JAVA_BYTE, 0, PacketCodec.MAX_PAYLOAD)
    }

    /** The last opcode sent to each queue pair, which the next packet may continue. */
    private val last = IntArray(queuePairs.size) { -1 }

    private fun oneIn(count: Int) = random.nextInt(count) == 0

    /** Makes the next packet, for the queue pair with this index. Returns false if the codec refused it. */
    fun next(index: Int): Boolean {
        address()
        val replayed = old[random.nextInt(OLD)]
        if (oneIn(20) && replayed.isNotEmpty()) return decode(replayed.size, replayed)
        if (oneIn(50)) return random.nextBytes(random.nextInt(100)).let { decode(it.size, it) }
        val target = queuePairs[index]
        val transport =
            when (target.kind.type) {
                QueuePairType.RC -> Opcode.RC
                QueuePairType.UC -> Opcode.UC
                else -> Opcode.UD
            }
        val seed = seeds.getValue(if (oneIn(40)) Opcode.RC else transport).random(random)
        decode(seed.size, seed)
        aim(index, target)
        repeat(if (random.nextInt(10) < 4) 1 + random.nextInt(3) else 0) { spoil() }
        if (!Opcode.hasPayload(packet.opcode)) packet.payloadLength = 0
        if (random.nextBoolean()) return true
        return asBytes()
    }

    private fun address() {
        packet.sourceGidHigh = FuzzSpec.PEER.subnetPrefix()
        packet.sourceGidLow = FuzzSpec.PEER.interfaceId()
        packet.destinationGidHigh = FuzzSpec.SELF.subnetPrefix()
        packet.destinationGidLow = FuzzSpec.SELF.interfaceId()
        if (oneIn(50)) packet.sourceGidLow++
    }

    private fun decode(
        length: Int,
        bytes: ByteArray,
    ): Boolean {
        MemorySegment.copy(bytes, 0, wire, JAVA_BYTE, 0, length)
        return PacketCodec.decode(packet, wire.address(), length)
    }

    private fun asBytes(): Boolean {
        var length = PacketCodec.encode(packet, wire.address())
        if (random.nextInt(10) < 3) repeat(1 + random.nextInt(8)) { flip(random.nextInt(length)) }
        if (oneIn(40)) Memory.putByte(wire.address(), random.nextInt(256).toByte())
        if (oneIn(10)) repeat(2) { flip(random.nextInt(minOf(length, 48))) }
        if (oneIn(20)) length = random.nextInt(length + 1)
        if (oneIn(20)) length = minOf(Packet.BUFFER_SIZE, length + 4 * random.nextInt(4) + random.nextInt(2))
        old[made++ % OLD] = wire.asSlice(0, length.toLong()).toArray(JAVA_BYTE)
        return PacketCodec.decode(packet, wire.address(), length)
    }

    private fun flip(at: Int) {
        val address = wire.address() + at
        Memory.putByte(address, (Memory.getByte(address).toInt() xor (1 shl random.nextInt(8))).toByte())
    }

    /** Turns a captured packet into one that the queue pair may take. */
    private fun aim(
        index: Int,
        target: FuzzQueuePair,
    ) {
        val inside = target.inside
        packet.destinationQp = target.qp.number()
        packet.pkey = Hca.PKEY
        packet.payload = payload.address()
        packet.qkey = FuzzBench.QKEY
        if (Opcode.isRequest(packet.opcode)) {
            goOn(index)
            packet.psn = inside.expectedPsn
            if (oneIn(6)) packet.psn = inside.expectedPsn + random.nextInt(-40, 4) and 0xffffff
        } else {
            packet.psn = inside.unacknowledged + random.nextInt(maxOf(1, inside.onTheWay)) and 0xffffff
        }
        val mtu = if (target.kind.type == QueuePairType.UD) PacketCodec.MAX_PAYLOAD else target.kind.mtu.bytes()
        packet.payloadLength =
            if (Opcode.isFirst(packet.opcode) || Opcode.isMiddle(packet.opcode)) mtu else random.nextInt(mtu + 1)
        aimAtMemory(target, mtu)
        if (Opcode.isRequest(packet.opcode) && Opcode.transport(packet.opcode) == Opcode.RC && oneIn(8)) place()
    }

    /** Turns a request that begins no message into an atomic write or a flush, of which no capture has any. */
    private fun place() {
        if (!Opcode.isOnly(packet.opcode)) return
        packet.opcode = if (oneIn(2)) Opcode.RC_ATOMIC_WRITE else Opcode.RC_FLUSH
        packet.placement =
            if (oneIn(4)) {
                random.nextInt()
            } else if (oneIn(3)) {
                0x11
            } else {
                0x01
            }
        packet.payloadLength = if (packet.opcode == Opcode.RC_FLUSH) 0 else Long.SIZE_BYTES
        packet.dmaLength = if (packet.opcode == Opcode.RC_FLUSH) random.nextInt(600) else Long.SIZE_BYTES
    }

    /** Continues a message that was begun, more often than not. */
    private fun goOn(index: Int) {
        val before = last[index]
        if (before >= 0 && (Opcode.isFirst(before) || Opcode.isMiddle(before)) && !oneIn(5)) {
            val middle = if (Opcode.isFirst(before)) before + 1 else before
            packet.opcode = if (random.nextBoolean()) middle else middle + 1 + random.nextInt(2)
        }
        last[index] = packet.opcode
    }

    private fun aimAtMemory(
        target: FuzzQueuePair,
        mtu: Int,
    ) {
        val area = memory.areas.random(random)
        val inWindow = target.window != null && oneIn(5)
        val edge = if (inWindow) FuzzArea.MIDDLE.last + 1 else FuzzArea.BYTES
        val offset =
            if (oneIn(4)) {
                edge - 8L * random.nextInt(1, 200)
            } else {
                8L *
                    random.nextInt((FuzzArea.BYTES / 8).toInt())
            }
        // A range that ends shortly before or after the edge tests that the edge is in the right place.
        packet.rkey = if (inWindow) target.windowKey else area.region.rkey()
        packet.remoteAddress = (if (inWindow) memory.windowed else area).region.address() + offset
        packet.dmaLength =
            when {
                packet.opcode == Opcode.RC_READ_REQUEST && oneIn(4) -> (edge - offset).toInt() + random.nextInt(-64, 64)
                packet.opcode == Opcode.RC_READ_REQUEST -> random.nextInt(1, 1 + (FuzzArea.BYTES - offset).toInt())
                Opcode.isFirst(packet.opcode) -> mtu * (1 + random.nextInt(3)) + random.nextInt(mtu)
                else -> packet.payloadLength
            }
        packet.immediate = if (oneIn(2)) target.windowKey else random.nextInt()
    }

    private fun spoil() {
        when (random.nextInt(14)) {
            0 -> {
                packet.psn = random.nextInt(1 shl 24)
            }

            1 -> {
                packet.opcode = knownOpcodes.random(random)
            }

            2 -> {
                packet.solicited = !packet.solicited
            }

            3 -> {
                packet.dmaLength = MEAN_LENGTHS.random(random)
            }

            4 -> {
                packet.dmaLength = random.nextInt()
            }

            5 -> {
                packet.remoteAddress = MEAN_ADDRESSES.random(random)
            }

            6 -> {
                packet.remoteAddress += random.nextLong(-FuzzArea.BYTES, FuzzArea.BYTES)
            }

            7 -> {
                packet.rkey = if (oneIn(2)) random.nextInt() else packet.rkey xor (1 shl random.nextInt(32))
            }

            8 -> {
                packet.payloadLength = random.nextInt(PacketCodec.MAX_PAYLOAD + 1)
            }

            9 -> {
                packet.syndrome = random.nextInt(256)
            }

            10 -> {
                packet.qkey = random.nextInt()
            }

            11 -> {
                packet.destinationQp =
                    if (oneIn(2)) queuePairs.random(random).qp.number() else random.nextInt(1 shl 24)
            }

            12 -> {
                packet.pkey = random.nextInt(1 shl 16)
            }

            else -> {
                packet.ackRequest = !packet.ackRequest
            }
        }
    }
}
