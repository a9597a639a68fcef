package org.kverbs.embedded.internal.udp

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.internal.wire.Icrc
import org.kverbs.embedded.internal.wire.Opcode
import org.kverbs.embedded.internal.wire.Packet
import org.kverbs.internal.abi.Errno
import java.lang.foreign.Arena
import java.net.InetAddress
import java.net.NetworkInterface
import kotlin.random.Random

/** What one call of a socket sent: each packet with its ICRC. */
private class Call(
    val packets: List<ByteArray>,
    val trafficClass: Int,
    val hops: Int,
)

/** A socket that keeps what it sends, or refuses it by the numbers of [answers], which it gives one by one. */
private class KeptSocket(
    val answers: ArrayDeque<Int> = ArrayDeque(),
    val most: Int = 64,
) : UdpSocket {
    val calls = mutableListOf<Call>()

    override fun port() = PORT

    override fun receiveBuffer() = 0

    override fun mostPackets() = most

    override fun send(
        to: Peer,
        trafficClass: Int,
        multicastHops: Int,
        from: Room,
        offset: Int,
        length: Int,
        packet: Int,
    ): Int {
        val bytes = ByteArray(length).also { from.bytes.clear().get(offset, it) }
        val answer = answers.removeFirstOrNull() ?: 0
        if (answer == 0) calls += Call(bytes.toList().chunked(packet) { it.toByteArray() }, trafficClass, multicastHops)
        return answer
    }

    override fun receive(into: Datagram) = false

    override fun setMulticastInterface(network: NetworkInterface) = Unit

    override fun join(
        group: InetAddress,
        network: NetworkInterface,
    ) = Unit

    override fun close() = Unit
}

private const val PORT = 0xc001
private const val WRITE_HEADERS = 28
private val here = InetAddress.ofLiteral("127.0.0.1")
private val there = InetAddress.ofLiteral("127.0.0.2")
private val memory = Arena.ofAuto().allocate(4096).apply { asByteBuffer().put(Random(1).nextBytes(4096)) }

private fun packet(
    payload: Int,
    traffic: Int = 0,
) = Packet(0).apply {
    opcode = Opcode.RC_WRITE_ONLY
    psn = payload
    trafficClass = traffic
    this.payload = memory.address()
    payloadLength = payload
}

private class Bench(
    val socket: KeptSocket = KeptSocket(),
) {
    val host = Peer(there)
    val batch = Batch(Peer(here))

    fun add(packet: Packet): Boolean =
        batch.takes(packet, host, socket, 0).also { if (it) batch.add(packet, host, socket, 0) {} }

    /** Tells whether a packet has the ICRC of an identification, and not just that of some; or the flush's own. */
    fun isOf(
        identification: Int,
        packet: ByteArray,
        summedTwice: Boolean = false,
    ): Boolean {
        val bytes = Arena.ofAuto().allocate(packet.size.toLong(), 8).apply { asByteBuffer().put(packet) }
        val length = packet.size - Icrc.LENGTH
        val word = identification shl 16 or Icrc.DONT_FRAGMENT
        val icrc = Icrc()
        val once = icrc.ofV4(0x7f000001, 0x7f000002, word, PORT, Icrc.UDP_PORT, bytes.address(), length)
        val sum = if (summedTwice) icrc.again(bytes.address(), length) else once
        return sum == Icrc.get(bytes.address() + length)
    }

    fun sizes() = socket.calls.map { call -> call.packets.map { it.size - WRITE_HEADERS - Icrc.LENGTH } }
}

/** Checks which packets leave together, and what becomes of them where the system does not take them. */
class BatchSpec :
    FunSpec({
        test("should send packets of one size together, and a shorter one as the last") {
            Bench().run {
                listOf(64, 64, 64, 32).forEach { add(packet(it)) shouldBe true }
                batch.isFull shouldBe true
                add(packet(32)) shouldBe false
                batch.leave() shouldBe 0
                batch.isEmpty shouldBe true
                add(packet(32)) shouldBe true
                add(packet(64)) shouldBe false
                batch.leave() shouldBe 0
                sizes() shouldBe listOf(listOf(64, 64, 64, 32), listOf(32))
            }
        }

        test("should count the identification up from 0, and leave each packet's bytes as they are") {
            for (payload in listOf(0, 4, 28, 32, 64, 1024, 4096)) {
                Bench().run {
                    while (!batch.isFull) add(packet(payload)) shouldBe true
                    batch.leave() shouldBe 0
                    val packets = socket.calls.single().packets
                    packets.size shouldBe minOf(64, 65_507 / (payload + WRITE_HEADERS + Icrc.LENGTH))
                    packets.forEachIndexed { i, each ->
                        withClue("packet $i of $payload bytes") {
                            isOf(i, each) shouldBe true
                            each.copyOfRange(WRITE_HEADERS, WRITE_HEADERS + payload) shouldBe
                                memory.asSlice(0, payload.toLong()).toArray(java.lang.foreign.ValueLayout.JAVA_BYTE)
                        }
                    }
                }
            }
        }

        test("should not send packets together that have another traffic class, host or socket") {
            Bench().run {
                add(packet(64)) shouldBe true
                add(packet(64, traffic = 2)) shouldBe false
                batch.takes(packet(64), Peer(there), socket, 0) shouldBe false
                batch.takes(packet(64), host, KeptSocket(), 0) shouldBe false
                batch.takes(packet(64), host, socket, 1) shouldBe false
                batch.takes(packet(64), host, socket, 0) shouldBe true
            }
        }

        test("should send packets alone by a socket that takes no more") {
            Bench(KeptSocket(most = 1)).run {
                add(packet(64)) shouldBe true
                batch.isFull shouldBe true
                add(packet(64)) shouldBe false
            }
        }

        for ((errno, again) in listOf(
            Errno.EIO to false,
            Errno.EOPNOTSUPP to false,
            Errno.EINVAL to true,
            Errno.EMSGSIZE to true,
        )) {
            test("should send the packets one by one if the system answers $errno, and then go on as before: $again") {
                Bench(KeptSocket(ArrayDeque(listOf(-errno)))).run {
                    listOf(64, 64, 64, 60).forEach { add(packet(it)) shouldBe true }
                    batch.leave() shouldBe 0
                    sizes() shouldBe listOf(listOf(64), listOf(64), listOf(64), listOf(60))
                    socket.calls.forEach { isOf(0, it.packets.single()) shouldBe true }
                    add(packet(64)) shouldBe true
                    add(packet(64)) shouldBe again
                }
            }
        }

        test("should go on with the first packet that did not leave when the socket has room again") {
            val full = -Errno.EAGAIN
            Bench(KeptSocket(ArrayDeque(listOf(full, -Errno.EIO, 0, full, full)))).run {
                repeat(4) { add(packet(64)) }
                batch.leave() shouldBe -1
                batch.leave() shouldBe -1
                batch.packets() shouldBe 3
                batch.leave() shouldBe -1
                batch.leave() shouldBe 0
                sizes() shouldBe List(4) { listOf(64) }
                socket.calls.forEach { isOf(0, it.packets.single()) shouldBe true }
            }
        }

        test("should leave the ICRC of a flush for Soft-RoCE as it is where the system takes no packets together") {
            val flush =
                Packet(0).apply {
                    opcode = Opcode.RC_FLUSH
                    summedTwice = true
                }
            for (packets in listOf(listOf(packet(64), packet(64), flush), listOf(flush, packet(0)))) {
                Bench(KeptSocket(ArrayDeque(listOf(-Errno.EIO)))).run {
                    for (each in packets) {
                        if (!add(each)) {
                            batch.leave() shouldBe 0
                            add(each) shouldBe true
                        }
                    }
                    batch.leave() shouldBe 0
                    val sent = socket.calls.flatMap { it.packets }
                    sent.size shouldBe packets.size
                    sent.forEach { isOf(0, it, summedTwice = it[0] == Opcode.RC_FLUSH.toByte()) shouldBe true }
                }
            }
        }

        test("should lose packets that have no route, and tell how many") {
            Bench(KeptSocket(ArrayDeque(listOf(-Errno.ENETUNREACH)))).run {
                repeat(3) { add(packet(64)) }
                batch.leave() shouldBe 3
                batch.isEmpty shouldBe true
            }
            Bench(KeptSocket(ArrayDeque(listOf(-Errno.EMSGSIZE, -Errno.EMSGSIZE, 0, -Errno.EMSGSIZE)))).run {
                repeat(3) { add(packet(64)) }
                batch.leave() shouldBe 2
                sizes() shouldBe listOf(listOf(64))
            }
        }

        test("should tell of the packets that were lost before the socket was full, once") {
            val (long, full) = listOf(-Errno.EMSGSIZE, -Errno.EAGAIN)
            Bench(KeptSocket(ArrayDeque(listOf(long, long, full, 0, long)))).run {
                repeat(3) { add(packet(64)) }
                batch.leave() shouldBe -1
                batch.leave() shouldBe 2
                add(packet(64)) shouldBe true
                batch.leave() shouldBe 0
            }
        }
    })
