package org.kverbs.embedded

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.Device
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.Gid
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.embedded.internal.wire.PacketCodec
import org.kverbs.embedded.wire.encoded
import org.kverbs.embedded.wire.knownOpcodes
import java.lang.foreign.Arena
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.net.DatagramPacket
import java.net.DatagramSocket
import java.net.InetAddress
import java.net.InetSocketAddress
import java.nio.ByteBuffer
import kotlin.random.Random

private const val BYTES = 8
private const val REGION = 4096

/** The place in the region that honest writes use. */
private const val ELSEWHERE = 2048
private const val UNTOUCHED: Byte = 0x33
private const val PAD_SHIFT = 4
private const val BTH_FLAGS = 1
private const val LONGEST = 65_507

/**
 * Sends datagrams that are not packets, from a peer on the loopback network: the device drops them in silence, and
 * serves the peer's other datagrams.
 */
class MisbehavingDatagramsSpec :
    FunSpec({
        fun wrong(
            name: String,
            datagrams: RawUdpPeer.() -> List<ByteArray>,
        ) = test("should drop $name, send nothing, and serve another queue pair") {
            RawUdpPeer().use { peer ->
                peer.datagrams().forEachIndexed { number, bytes ->
                    withClue({ "datagram $number, of ${bytes.size} bytes" }) { peer.isDropped(bytes) }
                }
                peer.serves()
            }
        }

        wrong("packets of every opcode that are cut short") {
            knownOpcodes.filter { it != Opcode.CNP }.flatMap { opcode ->
                val whole = packet(opcode).encoded()
                (0 until Opcode.headerLength(opcode)).map { signed(whole.copyOf(it)) }
            }
        }

        wrong(
            "another version of the BTH",
        ) { (1..15).map { version -> signed(write { it[BTH_FLAGS] = version.toByte() }) } }

        wrong("more pad than there is payload") {
            (1..3).map { pad ->
                signed(
                    packet(Opcode.RC_WRITE_ONLY, 0).encoded().also {
                        it[BTH_FLAGS] =
                            (pad shl PAD_SHIFT).toByte()
                    },
                )
            }
        }

        wrong(
            "a length that 4 doesn't divide",
        ) { (1..3).map { more -> signed(write {}.let { it.copyOf(it.size + more) }) } }

        wrong("a payload behind an opcode that has none") {
            val bare =
                listOf(
                    Opcode.RC_ACK,
                    Opcode.RC_ATOMIC_ACK,
                    Opcode.RC_READ_REQUEST,
                    Opcode.RC_FETCH_ADD,
                    Opcode.RC_COMPARE_SWAP,
                )
            bare.flatMap { opcode ->
                val whole = packet(opcode).encoded()
                listOf(4, 8, 1024).map { signed(whole.copyOf(whole.size + it)) }
            }
        }

        wrong("opcodes that are reserved, or of transports that no RoCE device has") {
            (0..255).filter { it !in knownOpcodes }.map { opcode -> signed(write { it[0] = opcode.toByte() }) }
        }

        wrong("payloads that are longer than the longest path MTU") {
            listOf(4100, 8192, 9000, 32_768, LONGEST - 64).map { signed(write {}.copyOf(28 + it / 4 * 4)) }
        }

        wrong("a checksum with one bit wrong, whichever it is") {
            val whole = signed(write {})
            (1..4 * Byte.SIZE_BITS).map { bit ->
                whole.copyOf().also {
                    val at = it.size - 1 - (bit - 1) / Byte.SIZE_BITS
                    it[at] = (it[at].toInt() xor (1 shl (bit - 1) % Byte.SIZE_BITS)).toByte()
                }
            }
        }

        wrong("a packet with one bit wrong, in its headers or its payload") {
            val whole = signed(write {})
            // The checksum leaves out byte 4, which routers may change.
            (0 until whole.size - Icrc.LENGTH).filter { it != 4 }.map { at ->
                whole.copyOf().also { it[at] = (it[at].toInt() xor 1).toByte() }
            }
        }

        wrong("a packet without a checksum") { listOf(write {}) }

        wrong("bytes of all lengths that mean nothing") {
            val random = Random(1)
            ((0..100) + listOf(1500, 4096, 4400, LONGEST)).map { random.nextBytes(it) }
        }
    })

/** A peer that sends datagrams, and the device that gets them, both on addresses of the loopback network. */
private class RawUdpPeer : AutoCloseable {
    private val addresses = loopbackAddresses(2).map(InetAddress::ofLiteral)
    private val here = addresses[0]
    private val there = addresses[1]
    private val device = EmbeddedProvider("udp:${here.hostAddress}").let { Device.of(it, it.devices().first()) }
    private val context = device.open()
    private val pd = context.protectionDomain()
    private val cq = context.completionQueue(8)
    private val mr =
        pd.memoryRegion(
            REGION.toLong(),
            AccessFlag.LOCAL_WRITE,
            AccessFlag.REMOTE_READ,
            AccessFlag.REMOTE_WRITE,
            AccessFlag.REMOTE_ATOMIC,
        )
    private val victim = queuePair()
    private val neighbour = queuePair()
    private val socket = DatagramSocket(InetSocketAddress(there, Icrc.UDP_PORT)).apply { soTimeout = 20_000 }
    private val icrc = Icrc()
    private val payload = Arena.ofAuto().allocate(BYTES.toLong(), 8)
    private val scratch = Arena.ofAuto().allocate(Packet.BUFFER_SIZE.toLong(), 8)
    private var psn = 0

    init {
        mr.memory().fill(UNTOUCHED)
    }

    private fun queuePair(): QueuePair {
        val made = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))
        made.connect(QueuePairEndpoint(0, Gid.parse("::ffff:${there.hostAddress}"), 3, 0, 1024, 0))
        return made
    }

    /** Returns a correct packet for the queue pair that gets the wrong ones. */
    fun packet(
        opcode: Int,
        bytes: Int = if (Opcode.hasPayload(opcode)) BYTES else 0,
        to: QueuePair = victim,
    ) = Packet(0).also {
        it.opcode = opcode
        it.pkey = 0xffff
        it.destinationQp = to.number()
        it.ackRequest = true
        it.rkey = mr.rkey()
        it.remoteAddress = mr.address()
        it.dmaLength = bytes
        it.payload = payload.address()
        it.payloadLength = bytes
    }

    /** The bytes of a write of 8 bytes, without the checksum, after a [change]. */
    fun write(change: (ByteArray) -> Unit) = packet(Opcode.RC_WRITE_ONLY).encoded().also(change)

    /** Returns the bytes with their checksum. */
    fun signed(bytes: ByteArray): ByteArray {
        if (bytes.size !in 12..Packet.BUFFER_SIZE) return bytes + ByteArray(Icrc.LENGTH)
        MemorySegment.copy(bytes, 0, scratch, JAVA_BYTE, 0, bytes.size)
        val (source, target) = listOf(there, here).map { ByteBuffer.wrap(it.address).getInt() }
        val port = Icrc.UDP_PORT
        val sum = icrc.ofV4(source, target, Icrc.DONT_FRAGMENT, port, port, scratch.address(), bytes.size)
        return bytes + ByteBuffer.allocate(Icrc.LENGTH).putInt(Integer.reverseBytes(sum)).array()
    }

    /**
     * Sends a datagram, then an honest write to the other queue pair: the device answers the write, and nothing else.
     */
    fun isDropped(bytes: ByteArray) {
        send(bytes)
        val honest = packet(Opcode.RC_WRITE_ONLY, to = neighbour)
        honest.psn = psn
        honest.remoteAddress += ELSEWHERE
        send(signed(honest.encoded()))
        answers() shouldBe listOf(Opcode.RC_ACK to psn++)
        val expected = ByteArray(REGION) { if (it in ELSEWHERE until ELSEWHERE + BYTES) 0 else UNTOUCHED }
        mr.memory().toArray(JAVA_BYTE) shouldBe expected
        victim.state() shouldBe QueuePairState.RTS
    }

    /** Checks that the tested queue pair still waits for its first packet, and takes it. */
    fun serves() {
        send(signed(write {}))
        answers() shouldBe listOf(Opcode.RC_ACK to 0)
    }

    private fun send(bytes: ByteArray) = socket.send(DatagramPacket(bytes, bytes.size, here, Icrc.UDP_PORT))

    /** Returns the packets that the device sends up to an acknowledgement. */
    private fun answers(): List<kotlin.Pair<Int, Int>> {
        val found = mutableListOf<kotlin.Pair<Int, Int>>()
        do {
            val bytes = ByteArray(Packet.BUFFER_SIZE)
            val datagram = DatagramPacket(bytes, bytes.size).also(socket::receive)
            MemorySegment.copy(bytes, 0, scratch, JAVA_BYTE, 0, datagram.length)
            val packet = Packet(0)
            check(PacketCodec.decode(packet, scratch.address(), datagram.length - Icrc.LENGTH)) {
                "the device sent what is no packet"
            }
            found += packet.opcode to packet.psn
        } while (packet.opcode != Opcode.RC_ACK)
        return found
    }

    override fun close() {
        socket.close()
        context.close()
    }
}
