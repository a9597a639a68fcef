package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldNotContain
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Device
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.ReceiveRequests
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus
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
import org.kverbs.attributes.RxHashField.IPSEC_SPI
import org.kverbs.attributes.RxHashField.SRC_IPV4
import org.kverbs.attributes.RxHashField.SRC_PORT_TCP
import org.kverbs.attributes.WorkQueueFlag
import org.kverbs.attributes.WorkQueueState
import org.kverbs.dsl.ethernet
import org.kverbs.dsl.indirectionTable
import org.kverbs.dsl.modify
import org.kverbs.dsl.postReceive
import org.kverbs.dsl.qp
import org.kverbs.dsl.workQueue
import java.util.zip.CRC32

private const val MINE = SpreadingRig.ADDRESS
private const val IPV4 = 0x0800
private const val UDP = 17
private val addresses = arrayOf(SRC_IPV4, DST_IPV4)

/** Checks work queues, the tables of them, and the queue pairs with a table. [SpreadingSpec] checks where frames go. */
internal class WorkQueueSpec :
    ContractSpec({
        case("should take receives in RDY, flush them in ERR, and forget them in RESET", WORK_QUEUES) {
            val rig = SpreadingRig(this, 1, *addresses)
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
            val rig = SpreadingRig(this, 1, *addresses)
            val queue = rig.queues.single()
            rig.transmit(VECTORS.first().frame)
            queue.modify(WorkQueueState.RESET)
            queue.cq().shouldStayEmpty()
            queue.modify(WorkQueueState.RDY)
            repeat(rig.depth) { queue.postReceive(rig.mr.slice(0, 1000), id = 9) } // all slots are free again
        }

        case("should lose a frame without a receive, and fail a receive that is too short but go on", WORK_QUEUES) {
            val queue = readyQueue(cq(), 16)
            val rig = SpreadingRig(this, 1, *addresses, queues = listOf(queue), post = false)
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
                val rig = SpreadingRig(this, 1, *addresses, queues = listOf(queue))
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
            val rig = SpreadingRig(this, 1, *addresses)
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
            val rig = SpreadingRig(this, 1, *addresses)
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
            val rig = SpreadingRig(this, 2, *addresses)
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

/** Returns the bytes that follow a frame on the wire. */
private fun checkSequence(frame: ByteArray): ByteArray {
    val sum = CRC32().apply { update(frame) }.value
    return ByteArray(4) { (sum shr 8 * it).toByte() }
}
