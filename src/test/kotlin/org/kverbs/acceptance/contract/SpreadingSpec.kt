package org.kverbs.acceptance.contract

import io.kotest.assertions.withClue
import io.kotest.matchers.shouldBe
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.acceptance.contract.Capability.WORK_QUEUES
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.RxHash
import org.kverbs.attributes.RxHashField
import org.kverbs.attributes.RxHashField.DST_IPV4
import org.kverbs.attributes.RxHashField.DST_IPV6
import org.kverbs.attributes.RxHashField.DST_PORT_TCP
import org.kverbs.attributes.RxHashField.DST_PORT_UDP
import org.kverbs.attributes.RxHashField.INNER
import org.kverbs.attributes.RxHashField.SRC_IPV4
import org.kverbs.attributes.RxHashField.SRC_IPV6
import org.kverbs.attributes.RxHashField.SRC_PORT_TCP
import org.kverbs.attributes.RxHashField.SRC_PORT_UDP
import org.kverbs.dsl.destination
import org.kverbs.dsl.ethernet
import org.kverbs.dsl.flow
import org.kverbs.dsl.indirectionTable
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp

private const val MINE = SpreadingRig.ADDRESS
private const val IPV4 = 0x0800
private const val IPV6 = 0x86dd
private const val TCP = 6
private const val UDP = 17
private val addresses = arrayOf(SRC_IPV4, DST_IPV4)
private val ports = arrayOf(SRC_PORT_TCP, DST_PORT_TCP)

/** Checks how queue pairs spread frames over the work queues of a table. */
internal class SpreadingSpec :
    ContractSpec({
        case("should receive by the work queue that the hash chooses, in its own completion queue", WORK_QUEUES) {
            val rig = SpreadingRig(this, 4, *addresses, *ports)
            // Microsoft's specification gives the hash of these: 0x51ccc178
            val frame = ethernet(MINE, IPV4, ipv4("161.142.100.80", TCP, tcp(1766, sourcePort = 2794), "66.9.149.187"))
            rig.transmit(frame)
            val queue = rig.queues[0x51ccc178 % 4]
            queue.cq().takeOne().shouldBeDone(0, RECV, queue.number(), bytes = frame.size.toLong())
            rig.received(0, frame.size) shouldBe frame
            rig.queues.minus(queue).forEach { it.cq().shouldStayEmpty() }
        }

        case("should hash as Microsoft's specification says, with ports and without", WORK_QUEUES) {
            for (vector in VECTORS) {
                withClue("$vector") {
                    val plain = if (vector.isIpv6) arrayOf(SRC_IPV6, DST_IPV6) else addresses
                    SpreadingRig(this, 256, *plain).use {
                        it.entryOf(vector.frame) shouldBe (vector.plain and 0xff).toInt()
                    }
                    SpreadingRig(this, 256, *plain, *ports).use {
                        it.entryOf(vector.frame) shouldBe (vector.withPorts and 0xff).toInt()
                    }
                }
            }
        }

        case("should spread the frames of many senders, and keep those of one in one queue and in order", WORK_QUEUES) {
            val cqs = List(2) { cq(512) }
            val rig = SpreadingRig(this, 8, *addresses, queues = List(8) { readyQueue(cqs[it % 2], 64) })
            val counts = mutableMapOf<Int, Int>()
            for (host in 1..64) {
                repeat(2) { rig.transmit(ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(it), "10.0.0.$host"))) }
                val done = rig.completions()
                done.map { it.queuePairNumber() }.toSet().size shouldBe 1
                done.map { it.workRequestId() }.zipWithNext { a, b -> b - a } shouldBe listOf(1L)
                counts.merge(done.first().queuePairNumber(), 1, Int::plus)
                done.forEach { rig.postAgain(it) }
            }
            withClue(counts) { counts.size shouldBe 8 }
        }

        case(
            "should keep the parts of a packet in one queue, and send what has none of the fields to the first",
            WORK_QUEUES,
        ) {
            val all = arrayOf(*addresses, SRC_IPV6, DST_IPV6, *ports, SRC_PORT_UDP, DST_PORT_UDP)
            SpreadingRig(this, 256, *all).use { rig ->
                val first = ipv4("198.51.100.7", UDP, udp(53), fragment = 0x2000)
                val later = ipv4("198.51.100.7", UDP, pattern(64), fragment = 0x0005)
                val entry = rig.entryOf(ethernet(MINE, IPV4, first))
                rig.entryOf(ethernet(MINE, IPV4, later)) shouldBe entry
                val whole = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)))
                (rig.entryOf(whole) == entry) shouldBe false
                rig.entryOf(ethernet(MINE, 0x88b5, pattern(64))) shouldBe 0
            }
        }

        case("should hash the fields that are named alone, those of UDP, and those inside of a tunnel", WORK_QUEUES) {
            fun entries(
                frames: List<ByteArray>,
                vararg fields: RxHashField,
            ) = SpreadingRig(this, 256, *fields).use { rig -> frames.map { rig.entryOf(it) } }

            fun datagram(
                host: Int,
                port: Int,
            ) = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53, sourcePort = port), "10.0.0.$host"))
            val frames = listOf(datagram(1, 1), datagram(2, 1), datagram(1, 2))
            entries(frames, SRC_IPV4).let { (a, b, c) -> (a == c && a != b) shouldBe true }
            entries(frames, SRC_PORT_UDP).let { (a, b, c) -> (a == b && a != c) shouldBe true }
            entries(frames, DST_IPV4, DST_PORT_UDP).toSet().size shouldBe 1
            entries(frames, SRC_PORT_TCP) shouldBe listOf(0, 0, 0)
            entries(frames) shouldBe listOf(0, 0, 0)
            val tunnels = frames.map { ethernet(MINE, IPV4, ipv4("192.0.2.1", UDP, udp(4789, vxlan(5, it)))) }
            entries(tunnels, *addresses).toSet().size shouldBe 1
            entries(tunnels, *addresses, INNER) shouldBe entries(frames, *addresses)
            entries(frames, *addresses, INNER) shouldBe listOf(0, 0, 0)
        }

        case("should choose by the key that it is given", WORK_QUEUES) {
            val frame = VECTORS.first().frame
            val zeros = SpreadingRig(this, 256, *addresses, key = ByteArray(40))
            zeros.entryOf(frame) shouldBe 0
            val ones = SpreadingRig(this, 256, *addresses, key = ByteArray(40) { -1 })
            // every window is 32 ones, so the number of ones of the addresses decides
            val count = (vectorBits(VECTORS.first()) % 2)
            ones.entryOf(frame) shouldBe if (count == 1) 255 else 0
        }

        case("should give a frame once to a queue pair with two rules, and a copy to another", WORK_QUEUES) {
            val rig = SpreadingRig(this, 2, *addresses)
            val sniffer = end(RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }
            sniffer.qp.postReceive(5, sniffer.mr.slice())
            rig.qp.flow { ethernet { destination(MINE) } }
            sniffer.qp.flow { dontTrap() }
            rig.transmit(VECTORS.first().frame)
            rig.completions().size shouldBe 1
            sniffer.cq.takeOne().workRequestId() shouldBe 5
        }

        case(
            "should serve a table of one queue, a queue of several tables, and queue pairs of one table",
            WORK_QUEUES,
        ) {
            val queue = readyQueue(cq(), 16)
            val one = context.indirectionTable(listOf(queue))
            val two =
                context.indirectionTable {
                    entries(queue)
                    size(4)
                }
            two.entries() shouldBe List(4) { queue }
            val hash = RxHash.toeplitz(*addresses)
            val qps = listOf(one, one, two).map { pd.queuePair(QueuePairInitAttributes.spreading(it, hash)) }
            qps.forEach { it.flow { ethernet { destination(MINE) } } }
            qps.map { it.indirectionTable() } shouldBe listOf(one, one, two)
            qps.first().rxHash() shouldBe hash
            val mr = memory()
            repeat(3) { queue.postReceive(mr.slice(it * 1000L, 1000), id = it.toLong()) }
            val sender = sender()
            sender.transmit(VECTORS.first().frame)
            queue.cq().take(3).map { it.workRequestId() } shouldBe listOf(0, 1, 2)
        }
    })

/** A frame with the hashes that Microsoft's specification of receive side scaling has for it. */
internal class Vector(
    val source: String,
    val sourcePort: Int,
    val destination: String,
    val destinationPort: Int,
    val plain: Long,
    val withPorts: Long,
) {
    val isIpv6 = ':' in source

    val frame: ByteArray
        get() {
            val segment = tcp(destinationPort, sourcePort = sourcePort)
            return if (isIpv6) {
                ethernet(MINE, IPV6, ipv6(destination, TCP, segment, source))
            } else {
                ethernet(MINE, IPV4, ipv4(destination, TCP, segment, source))
            }
        }

    override fun toString() = "$source:$sourcePort -> $destination:$destinationPort"
}

internal val VECTORS =
    listOf(
        Vector("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2, 0x51ccc178),
        Vector("199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718262a, 0xc626b0ea),
        Vector("24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0a5de, 0x5c2b394a),
        Vector("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xafc7327f),
        Vector("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d1809c5, 0x10e828a2),
        Vector("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc18cd5, 0x40207d3d),
        Vector("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c461c, 0xdde51bbf),
        Vector("3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf", 38024, 0x4b61e985, 0x02d1feef),
    )

private fun vectorBits(vector: Vector) =
    listOf(vector.source, vector.destination).sumOf { text -> text.split('.').sumOf { it.toInt().countOneBits() } }
