package org.kverbs.embedded.wire

import io.kotest.property.Arb
import io.kotest.property.arbitrary.arbitrary
import io.kotest.property.arbitrary.element
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE

internal val knownOpcodes = (0..255).filter(Opcode::known)

/** Native memory for one packet, with guarded bytes behind it. */
internal class Buffer {
    val segment: MemorySegment = Arena.ofAuto().allocate(2L * Packet.BUFFER_SIZE, 64)
    val address = segment.address()

    fun put(
        bytes: ByteArray,
        filler: Byte = 0,
    ): Buffer {
        segment.fill(filler)
        MemorySegment.copy(bytes, 0, segment, JAVA_BYTE, 0, bytes.size)
        return this
    }

    fun bytes(length: Int): ByteArray = segment.asSlice(0, length.toLong()).toArray(JAVA_BYTE)

    companion object {
        /** A buffer for encoded packets, and for loops that need one at a time. */
        val shared = Buffer()
    }
}

/** A copy of the packet's payload. */
internal fun Packet.payloadBytes() = ByteArray(payloadLength) { Memory.getByte(payload + it) }

/** Returns the encoded packet. */
internal fun Packet.encoded(): ByteArray {
    val buffer = Buffer.shared
    return buffer.bytes(PacketCodec.encode(this, buffer.address))
}

/** Returns all fields that the packet's opcode puts on the wire, by name. */
internal fun Packet.wireFields(): Map<String, Any> =
    buildMap {
        put("opcode", opcode)
        put("solicited", solicited)
        put("ackRequest", ackRequest)
        put("pkey", pkey)
        put("destinationQp", destinationQp)
        put("psn", psn)
        put("psnCount", psnCount)
        put("payload", payloadBytes().toList())
        if (Opcode.hasDeth(opcode)) putAll(mapOf("qkey" to qkey, "sourceQp" to sourceQp))
        if (Opcode.hasXrcEth(opcode)) put("sharedQueue", sharedQueue)
        if (Opcode.hasReth(opcode)) {
            putAll(
                mapOf(
                    "remoteAddress" to remoteAddress,
                    "rkey" to rkey,
                    "dmaLength" to dmaLength,
                ),
            )
        }
        if (Opcode.hasFeth(opcode)) put("placement", placement)
        if (Opcode.hasAtomicEth(opcode)) {
            putAll(
                mapOf(
                    "remoteAddress" to remoteAddress,
                    "rkey" to rkey,
                    "swapOrAdd" to swapOrAdd,
                    "compare" to compare,
                ),
            )
        }
        if (Opcode.hasAeth(opcode)) putAll(mapOf("syndrome" to syndrome, "msn" to msn))
        if (Opcode.hasAtomicAck(opcode)) put("originalValue", originalValue)
        if (Opcode.hasImmediate(opcode) || Opcode.hasInvalidate(opcode)) put("immediate", immediate)
    }

/** Makes a packet of random numbers, of one of these opcodes. */
internal fun packets(opcodes: List<Int> = knownOpcodes): Arb<Packet> =
    arbitrary { source ->
        val random = source.random
        val packet = Packet(0)
        packet.opcode = Arb.element(opcodes).sample(source).value
        packet.solicited = random.nextBoolean()
        packet.ackRequest = random.nextBoolean()
        packet.pkey = random.nextInt(0x10000)
        packet.destinationQp = random.nextInt(0x1000000)
        packet.psn = random.nextInt(0x1000000)
        packet.sharedQueue = random.nextInt(0x1000000)
        packet.remoteAddress = random.nextLong()
        packet.rkey = random.nextInt()
        packet.dmaLength = random.nextInt()
        packet.placement = random.nextInt()
        packet.swapOrAdd = random.nextLong()
        packet.compare = random.nextLong()
        packet.syndrome = random.nextInt(0x100)
        packet.msn = random.nextInt(0x1000000)
        packet.originalValue = random.nextLong()
        packet.qkey = random.nextInt()
        packet.sourceQp = random.nextInt(0x1000000)
        packet.immediate = random.nextInt()
        if (Opcode.hasPayload(packet.opcode)) {
            packet.payloadLength =
                listOf(0, random.nextInt(9), random.nextInt(300), 4096 - random.nextInt(4)).random(random)
            packet.payload = bytesAt(random.nextBytes(packet.payloadLength))
        }
        packet
    }

/** Returns memory that lives as long as the specs: a packet only knows its address. */
private fun bytesAt(bytes: ByteArray): Long {
    val size = maxOf(1, bytes.size).toLong()
    if (used + size > payloads.byteSize()) used = 0
    val slice = payloads.asSlice(used, size)
    MemorySegment.copy(bytes, 0, slice, JAVA_BYTE, 0, bytes.size)
    used += size
    return slice.address()
}

/** Reused from the start when it is full; no spec keeps that many packets. */
private val payloads = Arena.ofAuto().allocate(4L shl 20)
private var used = 0L
