package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldNotContain
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.Device
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkQueue
import org.kverbs.WorkQueueAttributes
import org.kverbs.WorkRequestException
import org.kverbs.acceptance.contract.Capability.WORK_QUEUES
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.RxHash
import org.kverbs.attributes.RxHashField
import org.kverbs.attributes.RxHashField.DST_IPV4
import org.kverbs.attributes.RxHashField.DST_IPV6
import org.kverbs.attributes.RxHashField.DST_PORT_TCP
import org.kverbs.attributes.RxHashField.DST_PORT_UDP
import org.kverbs.attributes.RxHashField.INNER
import org.kverbs.attributes.RxHashField.IPSEC_SPI
import org.kverbs.attributes.RxHashField.SRC_IPV4
import org.kverbs.attributes.RxHashField.SRC_IPV6
import org.kverbs.attributes.RxHashField.SRC_PORT_TCP
import org.kverbs.attributes.RxHashField.SRC_PORT_UDP
import org.kverbs.attributes.WorkQueueFlag
import org.kverbs.attributes.WorkQueueState
import org.kverbs.dsl.destination
import org.kverbs.dsl.ethernet
import org.kverbs.dsl.flow
import org.kverbs.dsl.indirectionTable
import org.kverbs.dsl.modify
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.workQueue
import java.util.zip.CRC32

private const val MINE = "02:00:00:00:00:01"
private const val IPV4 = 0x0800
private const val IPV6 = 0x86dd
private const val TCP = 6
private const val UDP = 17
private val addresses = arrayOf(SRC_IPV4, DST_IPV4)
private val ports = arrayOf(SRC_PORT_TCP, DST_PORT_TCP)

/** Checks work queues, the tables of them, and the queue pairs that spread frames over them. */
internal class WorkQueueSpec :
    ContractSpec({
        case("should receive by the work queue that the hash chooses, in its own completion queue", WORK_QUEUES) {
            val rig = Rig(this, 4, *addresses, *ports)
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
                    Rig(this, 256, *plain).use { it.entryOf(vector.frame) shouldBe (vector.plain and 0xff).toInt() }
                    Rig(this, 256, *plain, *ports).use {
                        it.entryOf(vector.frame) shouldBe (vector.withPorts and 0xff).toInt()
                    }
                }
            }
        }

        case("should spread the frames of many senders, and keep those of one in one queue and in order", WORK_QUEUES) {
            val cqs = List(2) { cq(512) }
            val rig = Rig(this, 8, *addresses, queues = List(8) { readyQueue(cqs[it % 2], 64) })
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
            Rig(this, 256, *all).use { rig ->
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
            ) = Rig(this, 256, *fields).use { rig -> frames.map { rig.entryOf(it) } }

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
            val zeros = Rig(this, 256, *addresses, key = ByteArray(40))
            zeros.entryOf(frame) shouldBe 0
            val ones = Rig(this, 256, *addresses, key = ByteArray(40) { -1 })
            // every window is 32 ones, so the number of ones of the addresses decides
            val count = (vectorBits(VECTORS.first()) % 2)
            ones.entryOf(frame) shouldBe if (count == 1) 255 else 0
        }

        case("should give a frame once to a queue pair with two rules, and a copy to another", WORK_QUEUES) {
            val rig = Rig(this, 2, *addresses)
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

        case("should take receives in RDY, flush them in ERR, and forget them in RESET", WORK_QUEUES) {
            val rig = Rig(this, 1, *addresses)
            val queue = rig.queues.single()
            val cq = queue.cq()
            queue.state() shouldBe WorkQueueState.RDY
            queue.modify(WorkQueueState.ERR)
            queue.state() shouldBe WorkQueueState.ERR
            cq.take(rig.depth).forEach { it.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR }
            queue.postReceive(rig.mr.slice(0, 100), id = 77)
            cq.takeOne().let {
                it.status() shouldBe WorkCompletionStatus.WR_FLUSH_ERR
                it.workRequestId() shouldBe 77
                it.queuePairNumber() shouldBe queue.number()
            }
            rig.transmit(VECTORS.first().frame)
            cq.shouldStayEmpty()
            refusalOf("EINVAL") { queue.modify(WorkQueueState.RDY) } shouldContain "from RESET to RDY"
            queue.modify(WorkQueueState.RESET)
            val refused = shouldThrow<WorkRequestException> { queue.postReceive(rig.mr.slice(0, 100)) }
            refused.message shouldContain
                "ibv_post_wq_recv(work queue ${queue.number()} on ${context.device().name()}, work request at"
            refused.message shouldContain "not in RESET"
            refusalOf("EINVAL") { queue.modify(WorkQueueState.ERR) } shouldContain "ibv_modify_wq"
            queue.modify(WorkQueueState.RDY)
            queue.postReceive(rig.mr.slice(0, 1000), id = 1)
            queue.modify(WorkQueueState.RESET)
            queue.modify(WorkQueueState.RDY)
            queue.postReceive(rig.mr.slice(0, 1000), id = 2)
            rig.transmit(VECTORS.first().frame)
            cq.takeOne().workRequestId() shouldBe 2
        }

        case("should forget completions that wait when a queue goes to RESET", WORK_QUEUES) {
            val rig = Rig(this, 1, *addresses)
            val queue = rig.queues.single()
            rig.transmit(VECTORS.first().frame)
            queue.modify(WorkQueueState.RESET)
            queue.cq().shouldStayEmpty()
            queue.modify(WorkQueueState.RDY)
            repeat(rig.depth) { queue.postReceive(rig.mr.slice(0, 1000), id = 9) } // all slots are free again
        }

        case("should lose a frame without a receive, and fail a receive that is too short but go on", WORK_QUEUES) {
            val queue = readyQueue(cq(), 16)
            val rig = Rig(this, 1, *addresses, queues = listOf(queue), post = false)
            val frame = VECTORS.first().frame
            rig.transmit(frame)
            queue.cq().shouldStayEmpty()
            queue.postReceive(rig.mr.slice(0, frame.size - 1L), id = 1)
            rig.transmit(frame)
            queue.cq().takeOne().status() shouldBe WorkCompletionStatus.LOC_LEN_ERR
            queue.postReceive(rig.mr.slice(0, frame.size.toLong()), id = 2)
            rig.transmit(frame)
            queue.cq().takeOne().shouldBeDone(2, RECV, queue.number(), bytes = frame.size.toLong())
        }

        case("should refuse more receives than fit, and those with more buffers than fit", WORK_QUEUES) {
            val queue = readyQueue(cq(), 2)
            val mr = memory()
            val most = queue.attributes().maxWr()
            repeat(most) { queue.postReceive(mr.slice(0, 64)) }
            shouldThrow<WorkRequestException> { queue.postReceive(mr.slice(0, 64)) }.message shouldContain
                "The work queue is full"
            val list = ReceiveRequests().receive(1)
            repeat(queue.attributes().maxSge() + 1) { list.into(mr.slice(0, 64)) }
            shouldThrow<WorkRequestException> { queue.postReceive(list) }.message shouldContain "max_sge is"
        }

        case("should take the tag out of a frame, and tell its check sequence, if the queue is to", WORK_QUEUES) {
            val tagged = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)), vlan = 7)
            val plain = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)))

            fun delivered(
                frame: ByteArray,
                vararg flags: WorkQueueFlag,
            ): ByteArray {
                val queue =
                    pd.workQueue {
                        cq(cq())
                        flags(*flags)
                        ready()
                    }
                val rig = Rig(this, 1, *addresses, queues = listOf(queue))
                rig.transmit(frame)
                return rig.received(0, rig.completions().single().byteLength().toInt())
            }
            delivered(tagged) shouldBe tagged
            delivered(tagged, WorkQueueFlag.CVLAN_STRIPPING) shouldBe plain
            delivered(plain, WorkQueueFlag.CVLAN_STRIPPING) shouldBe plain
            delivered(plain, WorkQueueFlag.SCATTER_FCS) shouldBe plain + checkSequence(plain)
            delivered(tagged, WorkQueueFlag.SCATTER_FCS, WorkQueueFlag.CVLAN_STRIPPING) shouldBe
                plain + checkSequence(tagged)
        }

        case("should change the flag that takes tags out, and no other", WORK_QUEUES) {
            val rig = Rig(this, 1, *addresses)
            val queue = rig.queues.single()
            val tagged = ethernet(MINE, IPV4, ipv4("198.51.100.7", UDP, udp(53)), vlan = 7)

            fun length() = rig.apply { transmit(tagged) }.completions().single().byteLength()
            queue.modify(WorkQueueFlag.CVLAN_STRIPPING, true)
            length() shouldBe tagged.size - 4L
            queue.modify(WorkQueueFlag.CVLAN_STRIPPING, false)
            length() shouldBe tagged.size.toLong()
            shouldThrow<RdmaSystemException> { queue.modify(WorkQueueFlag.SCATTER_FCS, true) }.message shouldContain
                "ibv_modify_wq(work queue ${queue.number()} on ${context.device().name()}, SCATTER_FCS=true)"
        }

        case("should refuse sizes and flags that the device does not have", WORK_QUEUES) {
            val limits = context.queryDevice()
            refusalOf("EINVAL") {
                pd.workQueue {
                    cq(cq())
                    maxWr(limits.maxQpWr() + 1)
                }
            } shouldContain "max_qp_wr"
            refusalOf("EINVAL") {
                pd.workQueue {
                    cq(cq())
                    maxWr(0)
                }
            } shouldContain "max_wr=0"
            refusalOf("EINVAL") {
                pd.workQueue {
                    cq(cq())
                    maxSge(limits.maxSge() + 1)
                }
            } shouldContain "max_sge"
            refusalOf("EOPNOTSUPP") {
                pd.workQueue {
                    cq(cq())
                    flags(WorkQueueFlag.DELAY_DROP)
                }
            } shouldContain
                "flags=[DELAY_DROP]"
            val most = context.queryDeviceEx().receiveSideScaling().maxTableSize()
            val queue = pd.workQueue { cq(cq()) }
            context
                .indirectionTable {
                    entries(queue)
                    size(most)
                }.close()
            refusalOf("EINVAL") {
                context.indirectionTable {
                    entries(queue)
                    size(2 * most)
                }
            } shouldContain
                "max_rwq_indirection_table_size"
        }

        case("should tell what it hashes, and refuse what it does not", WORK_QUEUES) {
            val attributes = context.queryDeviceEx()
            val scaling = attributes.receiveSideScaling()
            RAW_PACKET.isIn(scaling.queuePairTypes()) shouldBe true
            scaling.hashFunctions() shouldBe 1
            RxHashField.of(scaling.hashFields()).toList().let {
                it shouldContain SRC_PORT_TCP
                it shouldNotContain IPSEC_SPI
            }
            attributes.maxWqTypeRq() shouldBeGreaterThan 0
            val table = context.indirectionTable(listOf(pd.workQueue { cq(cq()) }))

            fun made(
                hash: RxHash,
                type: QueuePairType = RAW_PACKET,
                sends: Int = 0,
            ) {
                val sizes = QueuePairCapabilities(sends, 0, sends, 0, 0)
                val cq = cq()
                val init = QueuePairInitAttributes(type, cq, cq, null, sizes, false, false, setOf(), table, hash)
                pd.queuePair(init).close()
            }
            made(RxHash.toeplitz(*addresses))
            refusalOf("EOPNOTSUPP") { made(RxHash.toeplitz(IPSEC_SPI)) } shouldContain "rx_hash=toeplitz[IPSEC_SPI]"
            refusalOf("EINVAL") { made(RxHash.toeplitz(ByteArray(39))) } shouldContain "39 bytes"
            refusalOf("EOPNOTSUPP") { made(RxHash.toeplitz(), QueuePairType.RC) } shouldContain "ibv_create_qp_ex"
            refusalOf("EINVAL") { made(RxHash.toeplitz(), sends = 4) } shouldContain "no queues of its own"
        }

        case("should have a queue pair that receives since it was made, and has no other state", WORK_QUEUES) {
            val rig = Rig(this, 1, *addresses)
            rig.qp.state() shouldBe QueuePairState.RTR
            shouldThrow<IllegalStateException> { rig.qp.activate(ConnectOptions.DEFAULTS) }.message shouldContain
                "receives since it was made"
            shouldThrow<WorkRequestException> { rig.qp.postReceive(1, rig.mr.slice()) }.message shouldContain
                "no indirection table"
            shouldThrow<WorkRequestException> { rig.qp.postWith { it.send(1).from(rig.mr.slice()) } }
                .message shouldContain "sends nothing"
            refusalOf("EOPNOTSUPP") { rig.qp.modify { state(QueuePairState.ERR) } } shouldContain "ibv_modify_qp"
        }

        case("should close queue pairs before their table, and tables before their queues", WORK_QUEUES) {
            val rig = Rig(this, 2, *addresses)
            val second = context.indirectionTable(rig.queues)
            rig.queues.first().close()
            listOf(rig.qp, rig.table, second).map { it.isOpen } shouldBe listOf(false, false, false)
            val other = rig.queues.last()
            other.isOpen shouldBe true
            val third = context.indirectionTable(listOf(other))
            other.cq().close()
            listOf(other, third).map { it.isOpen } shouldBe listOf(false, false)
            shouldThrow<IllegalStateException> { context.indirectionTable(listOf(other)) }.message shouldContain
                "closed"
            shouldThrow<IllegalStateException> { other.postReceive(rig.mr.slice()) }.message shouldContain "is closed"
            rig.transmit(VECTORS.first().frame)
        }

        case("should refuse tables that are no power of two, and parts of another open device", WORK_QUEUES) {
            val queues = List(3) { pd.workQueue { cq(cq()) } }
            shouldThrow<IllegalArgumentException> { context.indirectionTable(queues) }.message shouldContain
                "of 3 entries: their number must be a power of 2"
            shouldThrow<IllegalArgumentException> { context.indirectionTable(listOf()) }.message shouldContain
                "of 0 entries"
            Device.byName(context.device().name()).open().use { other ->
                shouldThrow<IllegalArgumentException> { other.indirectionTable(queues.take(2)) }.message shouldContain
                    "belongs to another open device"
                shouldThrow<IllegalArgumentException> {
                    pd.workQueue(WorkQueueAttributes.of(other.completionQueue(16)))
                }.message shouldContain "belongs to another open device"
                val table = context.indirectionTable(queues.take(2))
                val init = QueuePairInitAttributes.spreading(table, RxHash.toeplitz())
                shouldThrow<IllegalArgumentException> { other.protectionDomain().queuePair(init) }.message shouldContain
                    "belongs to another open device"
            }
        }

        case("should refuse parts of a queue pair that exclude a table", WORK_QUEUES) {
            val table = context.indirectionTable(listOf(pd.workQueue { cq(cq()) }))
            shouldThrow<IllegalArgumentException> {
                pd.qp {
                    type(RAW_PACKET)
                    cq(cq())
                    maxRecvWr(3)
                    rxHash(table) { fields(SRC_IPV4) }
                }
            }.message shouldContain "rxHash(...) and [cq, maxRecvWr] exclude each other"
        }
    })

/** A frame with the hashes that Microsoft's specification of receive side scaling has for it. */
private class Vector(
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

private val VECTORS =
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

/** Returns the bytes that follow a frame on the wire. */
private fun checkSequence(frame: ByteArray): ByteArray {
    val sum = CRC32().apply { update(frame) }.value
    return ByteArray(4) { (sum shr 8 * it).toByte() }
}

private fun Bench.readyQueue(
    cq: CompletionQueue,
    maxWr: Int,
) = pd.workQueue {
    cq(cq)
    maxWr(maxWr)
    ready()
}

private fun Bench.sender() = end(RAW_PACKET).apply { qp.activate(ConnectOptions.DEFAULTS) }

/** Sends a frame, and waits until it was sent. */
private fun End.transmit(frame: ByteArray) {
    mr.put(frame, 8_192)
    post { send(77).from(mr.slice(8_192, frame.size.toLong())).signaled() }
    cq.takeOne().shouldBeDone(77, SEND, qp)
}

/** A queue pair with a table, a rule for [MINE], receives in each work queue, and a sender. */
private class Rig(
    bench: Bench,
    size: Int,
    vararg fields: RxHashField,
    key: ByteArray? = null,
    val queues: List<WorkQueue> =
        if (size >
            8
        ) {
            shared(bench, size)
        } else {
            List(size) { bench.readyQueue(bench.cq(), 16) }
        },
    post: Boolean = true,
) : AutoCloseable {
    val depth = if (size > 8) 1 else 16
    private val slot = 512L
    val mr: MemoryRegion = bench.memory(slot * depth * size.coerceAtLeast(64))
    val table = bench.context.indirectionTable(queues)
    val qp: QueuePair =
        bench.pd.qp {
            type(RAW_PACKET)
            rxHash(table) {
                fields(*fields)
                key?.let { key(it) }
            }
        }
    private val sender = bench.sender()

    init {
        qp.flow { ethernet { destination(MINE) } }
        if (post) {
            queues.forEach { queue ->
                repeat(depth) { queue.postReceive(mr.slice(slot * it, slot), id = it.toLong()) }
            }
        }
    }

    fun transmit(frame: ByteArray) = sender.transmit(frame)

    fun received(
        id: Int,
        bytes: Int,
    ): ByteArray = mr.bytes(bytes, slot * id)

    /** Takes all completions that there are. */
    fun completions(): List<WorkCompletion> {
        val found = mutableListOf<WorkCompletion>()
        await("a completion") {
            queues.map { it.cq() }.distinct().forEach { cq -> cq.poll({ found += it.copy() }, 64) }
            found.isNotEmpty()
        }
        return found
    }

    /** Posts the receive of a completion again, with the id that follows those of its queue. */
    fun postAgain(done: WorkCompletion) {
        val id = done.workRequestId() + depth
        queues.first { it.number() == done.queuePairNumber() }.postReceive(mr.slice(id % depth * slot, slot), id = id)
    }

    /** Sends a frame, and returns the index of the work queue that it came to. */
    fun entryOf(frame: ByteArray): Int {
        transmit(frame)
        val number = completions().single().queuePairNumber()
        val index = queues.indexOfFirst { it.number() == number }
        queues[index].postReceive(mr.slice(0, slot), id = 0)
        return index
    }

    override fun close() {
        sender.qp.close()
        queues.forEach { it.close() }
    }

    private companion object {
        /** Many work queues that complete into one completion queue. */
        fun shared(
            bench: Bench,
            size: Int,
        ): List<WorkQueue> = bench.cq(512).let { cq -> List(size) { bench.readyQueue(cq, 2) } }
    }
}

private fun refusalOf(
    errno: String,
    call: () -> Unit,
): String {
    val refusal = shouldThrow<RdmaSystemException> { call() }
    withClue(refusal.message) { refusal.errnoName() shouldBe errno }
    return refusal.message.orEmpty()
}
