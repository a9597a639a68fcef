package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.shouldNotBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.NullVerbs.Kind
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.RxHash
import org.kverbs.attributes.RxHashField
import org.kverbs.attributes.WorkQueueFlag
import org.kverbs.attributes.WorkQueueState
import java.time.Duration

private const val USUAL_KEY =
    "6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa"

/** Tests the calls of work queues on a libibverbs: their parameters, their order at a close, a library without them. */
class WorkQueueCallsSpec :
    FunSpec({
        onNullDevice()

        test("should make a work queue as C reads it, and tell the sizes that the driver gave") {
            NullBench().use { bench ->
                val queue = bench.pd.workQueue(WorkQueueAttributes.of(bench.cq, 100))
                NullVerbs.scaling() shouldBe "type=0 max_wr=100 max_sge=1 mask=0 flags=0"
                queue.attributes() shouldBe WorkQueueAttributes(bench.cq, 128, 4, setOf())
                queue.number() shouldNotBe 0
                queue.describe() shouldBe "work queue ${queue.number()} on null0"
                bench.pd.workQueue(WorkQueueAttributes.of(bench.cq).with(*WorkQueueFlag.entries.toTypedArray()))
                NullVerbs.scaling() shouldBe "type=0 max_wr=128 max_sge=1 mask=1 flags=15"
            }
        }

        test("should initialize what verbs.h does, so that a driver can wait for acknowledged events") {
            NullBench().use { bench ->
                val queue = bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))
                NullVerbs.raise(AsyncEventType.WQ_FATAL, queue.handle())
                val event = bench.context.awaitAsyncEvent(Duration.ZERO).shouldNotBeNull()
                event.source() shouldBe queue
                queue.close() // null0 refuses a queue whose mutex is not initialized
                NullVerbs.live(Kind.WQ) shouldBe 0
            }
        }

        test("should change the state and the flags, and post by the queue's own function") {
            NullBench().use { bench ->
                val queue = bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))
                queue.state() shouldBe WorkQueueState.RESET
                shouldThrow<WorkRequestException> { queue.postReceive(1, bench.mr.slice()) }.errnoName() shouldBe
                    "EINVAL"
                queue.modify(WorkQueueState.RDY)
                NullVerbs.scaling() shouldBe "mask=1 state=1 flags=0/0"
                queue.state() shouldBe WorkQueueState.RDY
                queue.postReceive(7, bench.mr.slice())
                val batch = WorkCompletions(2)
                bench.cq.poll(batch) shouldBe 1
                batch.get(0).workRequestId() shouldBe 7
                queue.modify(WorkQueueFlag.CVLAN_STRIPPING, true)
                NullVerbs.scaling() shouldBe "mask=4 state=0 flags=1/1"
                queue.modify(WorkQueueFlag.SCATTER_FCS, false)
                NullVerbs.scaling() shouldBe "mask=4 state=0 flags=0/2"
                queue.modify(WorkQueueState.ERR)
                shouldThrow<RdmaSystemException> { queue.modify(WorkQueueState.RDY) }.errnoName() shouldBe "EINVAL"
            }
        }

        test("should name the request of a list that is refused") {
            NullBench().use { bench ->
                val queue = bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))
                queue.modify(WorkQueueState.RDY)
                NullVerbs.set(NullVerbs.Option.REFUSE_AT, 2)
                NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, 12)
                val list = ReceiveRequests()
                repeat(4) { list.receive(it.toLong()) }
                val refusal = shouldThrow<WorkRequestException> { queue.postReceive(list) }
                refusal.index() shouldBe 2
                refusal.message shouldContain "The work queue is full"
            }
        }

        test("should make tables and queue pairs as C reads them, and destroy them before the queues") {
            NullBench().use { bench ->
                val queues = List(2) { bench.pd.workQueue(WorkQueueAttributes.of(bench.cq)) }
                val (a, b) = queues
                val table = bench.context.indirectionTable(listOf(a, b, b, b))
                val numbers = listOf(a, b, b, b).joinToString(" ") { "%x".format(it.number()) }
                NullVerbs.scaling() shouldBe "mask=0 entries $numbers"
                val hash = RxHash.toeplitz(RxHashField.SRC_IPV4, RxHashField.DST_PORT_UDP, RxHashField.INNER)
                val qp = bench.pd.queuePair(QueuePairInitAttributes.spreading(table, hash))
                NullVerbs.scaling() shouldBe
                    "mask=49 type=8 send_cq=0 recv_cq=0 sizes=0 0 0 0 function=1 fields=80000081 key=40:$USUAL_KEY"
                qp.sendCq() shouldBe bench.cq
                a.close()
                listOf(qp, table, b).map { it.isOpen } shouldBe listOf(false, false, true)
                NullVerbs.live(Kind.TABLE) shouldBe 0
                NullVerbs.live(Kind.WQ) shouldBe 1
            }
        }

        test("should keep what the kernel refuses to destroy, name it, and close it later") {
            NullBench().use { bench ->
                val queue = bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))
                val table = bench.context.indirectionTable(listOf(queue))
                NullVerbs.set(NullVerbs.Option.KEEP_ERRNO, 16)
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, Kind.TABLE.ordinal)
                val refusal = shouldThrow<RdmaSystemException> { queue.close() }
                refusal.operation() shouldBe "ibv_destroy_rwq_ind_table"
                refusal.advice() shouldContain "still in use by queue pairs"
                NullVerbs.set(NullVerbs.Option.KEEP_KIND, -1)
                table.close()
                queue.close()
                NullVerbs.live(Kind.WQ) shouldBe 0
            }
        }

        test("should never post to a queue whose receive queue is elsewhere, nor bring it up") {
            NullBench().use { bench ->
                val table = bench.context.indirectionTable(listOf(bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))))
                val qp = bench.pd.queuePair(QueuePairInitAttributes.spreading(table, RxHash.toeplitz()))
                shouldThrow<WorkRequestException> { qp.postReceive(1, bench.mr.slice()) }.errnoName() shouldBe "EINVAL"
                shouldThrow<IllegalStateException> { qp.activate(ConnectOptions.DEFAULTS) }
            }
        }

        test("should say that a library without extended calls has no work queues") {
            NullBench(extended = false).use { bench ->
                bench.context.supports(Feature.WORK_QUEUES) shouldBe false
                val missing =
                    shouldThrow<UnsupportedVerbException> { bench.pd.workQueue(WorkQueueAttributes.of(bench.cq)) }
                missing.operation() shouldBe "ibv_create_wq"
                missing.message shouldContain "those of mlx4 with rdma-core 15"
            }
        }

        test("should refuse combinations that mean nothing, and keep a key to itself") {
            NullBench().use { bench ->
                val table = bench.context.indirectionTable(listOf(bench.pd.workQueue(WorkQueueAttributes.of(bench.cq))))
                val hash = RxHash.toeplitz(RxHashField.SRC_IPV4)
                val none = QueuePairCapabilities(0, 0, 0, 0, 0)

                fun refusal(
                    table: ReceiveIndirectionTable?,
                    hash: RxHash?,
                    sizes: QueuePairCapabilities = none,
                    srq: SharedReceiveQueue? = null,
                    extended: Boolean = false,
                ) = shouldThrow<IllegalArgumentException> {
                    QueuePairInitAttributes(
                        RAW_PACKET,
                        bench.cq,
                        bench.cq,
                        srq,
                        sizes,
                        false,
                        extended,
                        setOf(),
                        table,
                        hash,
                    )
                }.message
                refusal(table, null) shouldContain "an indirection table needs a hash"
                refusal(null, hash) shouldContain "a hash needs an indirection table"
                refusal(table, hash, QueuePairCapabilities(0, 1, 0, 0, 0)) shouldContain "maxRecvWr 0"
                refusal(table, hash, srq = bench.sharedReceiveQueue()) shouldContain "leave out srq"
                refusal(table, hash, extended = true) shouldContain "extended"
                shouldThrow<IllegalArgumentException> { RxHash.toeplitz(ByteArray(0)) }
                shouldThrow<IllegalArgumentException> { RxHash.toeplitz(ByteArray(256)) }
                shouldThrow<IllegalArgumentException> { WorkQueueAttributes.of(bench.cq, -1) }
                val key = ByteArray(40) { it.toByte() }
                val keyed = RxHash.toeplitz(key, RxHashField.SRC_IPV4)
                key[0] = 99
                keyed.key()[0] shouldBe 0
                keyed.key()[0] = 9
                keyed shouldBe RxHash.toeplitz(ByteArray(40) { it.toByte() }, RxHashField.SRC_IPV4)
                keyed shouldNotBe hash
                keyed.toString() shouldBe "toeplitz[SRC_IPV4]"
                keyed.toString() shouldNotContain "01"
                RxHash.toeplitz().fields().isEmpty() shouldBe true
                bench.pd.queuePair(QueuePairInitAttributes.of(RC, bench.cq)).indirectionTable() shouldBe null
            }
        }
    })
