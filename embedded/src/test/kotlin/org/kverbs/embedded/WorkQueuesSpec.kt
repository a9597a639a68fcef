package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.ints.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Context
import org.kverbs.Device
import org.kverbs.FlowAttributes
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.ReceiveIndirectionTable
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkCompletions
import org.kverbs.WorkQueue
import org.kverbs.WorkQueueAttributes
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RAW_PACKET
import org.kverbs.attributes.RxHash
import org.kverbs.attributes.WorkQueueFlag
import org.kverbs.attributes.WorkQueueState
import org.kverbs.embedded.Errno.EAGAIN
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean

private const val FRAME = 64L

/** A sender, and a queue pair of another device that gives all frames to the first of two work queues. */
private class Rig(
    val fabric: EmbeddedFabric = EmbeddedFabric.virtual(7),
    entries: Int = 64,
) : AutoCloseable {
    private val here = fabric.addDevice()
    val there: Device = fabric.addDevice()
    val sender = End(here, RAW_PACKET, 4096).apply { qp.activate(ConnectOptions.DEFAULTS) }
    val context: Context = there.open()
    val pd = context.protectionDomain()
    val mr: MemoryRegion = pd.memoryRegion(4096, LOCAL_WRITE)
    val queues: List<WorkQueue> =
        List(2) { pd.workQueue(WorkQueueAttributes.of(context.completionQueue(entries), 64)) }
    val first = queues.first()
    val table: ReceiveIndirectionTable = context.indirectionTable(queues)
    val qp: QueuePair = pd.queuePair(QueuePairInitAttributes.spreading(table, RxHash.toeplitz()))

    init {
        queues.forEach { it.modify(WorkQueueState.RDY) }
        qp.flow(FlowAttributes.builder().build())
    }

    fun receive(count: Int = 1) = repeat(count) { first.postReceive(it.toLong(), mr.slice(0, FRAME)) }

    fun transmit(count: Int = 1) {
        repeat(count) { sender.post { send(1).from(sender.mr.slice(0, FRAME)).signaled() } }
        sender.take(count).forEach { it.status() shouldBe SUCCESS }
    }

    fun completions(queue: WorkQueue = first): List<WorkCompletion> {
        val batch = WorkCompletions(128)
        return List(queue.cq().poll(batch)) { batch.get(it).copy() }
    }

    fun event() = context.awaitAsyncEvent(Duration.ZERO)

    override fun close() {
        sender.close()
        context.close()
        fabric.close()
    }
}

/** Checks the work queues of embedded devices: what breaks them, ends in every order, and the refusals of a test. */
class WorkQueuesSpec :
    FunSpec({
        test("should break one work queue when its memory is not there, and tell so, and let the others go on") {
            Rig().use { rig ->
                val mr = rig.pd.memoryRegion(FRAME, LOCAL_WRITE)
                rig.first.postReceive(1, mr.slice())
                rig.receive()
                mr.close()
                rig.transmit()
                rig.completions().map { it.status() } shouldBe listOf(LOC_PROT_ERR, WR_FLUSH_ERR)
                rig.first.state() shouldBe WorkQueueState.ERR
                rig.event()?.let { it.type() to it.source() } shouldBe (AsyncEventType.WQ_FATAL to rig.first)
                rig.qp.state() shouldBe QueuePairState.RTR
                rig.queues.last().state() shouldBe WorkQueueState.RDY
                rig.first.modify(WorkQueueState.RESET)
                rig.first.modify(WorkQueueState.RDY)
                rig.receive()
                rig.transmit()
                rig.completions().single().status() shouldBe SUCCESS
            }
        }

        test("should fail a receive and a post as a test asks for") {
            Rig().use { rig ->
                rig.receive(2)
                rig.fabric.inject(rig.there, Failure.of(RECV, REM_OP_ERR))
                rig.transmit()
                rig.completions().map { it.status() } shouldBe listOf(REM_OP_ERR, WR_FLUSH_ERR)
                rig.first.state() shouldBe WorkQueueState.ERR
                rig.fabric.inject(rig.there, Failure.of(Operation.POST_RECEIVE, EAGAIN))
                shouldThrow<WorkRequestException> { rig.receive() }.errnoName() shouldBe "EAGAIN"
            }
        }

        test("should refuse each call on work queues and tables as a test asks for") {
            Rig().use { rig ->
                fun refused(
                    operation: Operation,
                    call: () -> Any,
                ) {
                    rig.fabric.inject(rig.there, Failure.of(operation, EAGAIN))
                    shouldThrow<RdmaSystemException> { call() }.errnoName() shouldBe "EAGAIN"
                }
                refused(Operation.CREATE_WORK_QUEUE) { rig.pd.workQueue(WorkQueueAttributes.of(rig.first.cq())) }
                refused(Operation.CREATE_INDIRECTION_TABLE) { rig.context.indirectionTable(rig.queues) }
                refused(Operation.MODIFY_WORK_QUEUE) { rig.first.modify(WorkQueueState.ERR) }
                refused(Operation.DESTROY_INDIRECTION_TABLE) { rig.table.close() }
                rig.table.close()
                refused(Operation.DESTROY_WORK_QUEUE) { rig.first.close() }
                rig.first.close()
            }
        }

        test("should keep a work queue while a table has it, and a table while a queue pair has it") {
            Rig().use { rig ->
                rig.fabric.inject(rig.there, Failure.of(Operation.DESTROY_QUEUE_PAIR, EAGAIN))
                val refusal = shouldThrow<RdmaSystemException> { rig.first.close() }
                refusal.errnoName() shouldBe "EAGAIN"
                val others = refusal.suppressed.map { it as RdmaSystemException }
                others.map { it.operation() to it.errnoName() } shouldBe
                    listOf("ibv_destroy_rwq_ind_table" to "EBUSY", "ibv_destroy_wq" to "EBUSY")
                others.first().message shouldContain "still in use by queue pairs"
                others.last().message shouldContain "still in use by indirection tables"
                val cq = rig.first.cq()
                shouldThrow<RdmaSystemException> {
                    rig.fabric.inject(rig.there, Failure.of(Operation.DESTROY_QUEUE_PAIR, EAGAIN))
                    cq.close()
                }.suppressed.map { (it as RdmaSystemException).operation() } shouldContain "ibv_destroy_cq"
                rig.first.close()
                cq.close()
            }
        }

        test("should break the work queues of a completion queue that overruns, and no other") {
            Rig(entries = 2).use { rig ->
                rig.receive(4)
                rig.transmit(3)
                val events = generateSequence { rig.event() }.map { it.type() to it.source() }.toList()
                events shouldBe
                    listOf(AsyncEventType.CQ_ERR to rig.first.cq(), AsyncEventType.WQ_FATAL to rig.first)
                rig.first.state() shouldBe WorkQueueState.ERR
                rig.queues.last().state() shouldBe WorkQueueState.RDY
            }
        }

        test("should flush what is posted when the device breaks, and still end everything") {
            Rig().use { rig ->
                rig.receive(3)
                rig.fabric.raise(rig.there, AsyncEventType.DEVICE_FATAL)
                rig.event()?.type() shouldBe AsyncEventType.DEVICE_FATAL
                rig.completions().map { it.status() } shouldBe List(3) { WR_FLUSH_ERR }
                rig.first.close()
                rig.queues.last().close()
            }
        }

        test("should count frames at the queue pair, those without a receive too") {
            Rig().use { rig ->
                rig.receive(2)
                rig.transmit(3)
                val counters = rig.qp.counters()
                counters["rcvd_pkts"] shouldBe 2L
                counters["rcvd_bytes"] shouldBe 2 * FRAME
                counters["out_of_buffer"] shouldBe 1L
            }
        }

        test("should tell of its work queues in the attributes of the device") {
            Rig().use { rig ->
                val attributes = rig.context.queryDeviceEx()
                attributes.receiveSideScaling().maxTables() shouldBe 4096
                attributes.receiveSideScaling().maxTableSize() shouldBe 2048
                attributes.maxWqTypeRq() shouldBe 16_384
                attributes.rawPacketCaps() shouldBe 3
                attributes.capabilities() shouldContain DeviceCapability.RAW_SCATTER_FCS
            }
        }

        test("should bound the number of work queues and tables, and give their room back") {
            Rig().use { rig ->
                val attributes = WorkQueueAttributes(rig.first.cq(), 1, 1, setOf())
                val queues = List(16_382) { rig.pd.workQueue(attributes) }
                shouldThrow<RdmaSystemException> { rig.pd.workQueue(attributes) }.message shouldContain "max_wq_type_rq"
                queues.last().close()
                rig.pd.workQueue(attributes).close()
                val tables = List(4095) { rig.context.indirectionTable(rig.queues) }
                shouldThrow<RdmaSystemException> { rig.context.indirectionTable(rig.queues) }.message shouldContain
                    "max_rwq_indirection_tables"
                tables.first().close()
                rig.context.indirectionTable(rig.queues)
            }
        }

        test("should find a queue pair and a work queue by numbers that no other has") {
            Rig().use { rig ->
                val numbers = rig.queues.map { it.number() } + rig.qp.number() + rig.sender.qp.number()
                numbers.toSet().size shouldBe 4
            }
        }

        test("should give nothing to a context that was closed with all of this open") {
            Rig().use { rig ->
                rig.receive(5)
                rig.context.close()
                rig.transmit(5)
                listOf(rig.qp, rig.table, rig.first).any { it.isOpen } shouldBe false
            }
        }

        test("should change states and flags, close and make anew, from many threads, while frames arrive") {
            Rig(EmbeddedFabric.realTime(5), entries = 4096).use { rig ->
                val ends = AtomicBoolean()
                val (first, second) = rig.queues
                val threads =
                    listOf<() -> Unit>(
                        {
                            first.modify(WorkQueueState.RESET)
                            first.modify(WorkQueueState.RDY)
                        },
                        { runCatching { first.postReceive(1, rig.mr.slice(0, FRAME)) } },
                        { first.modify(WorkQueueFlag.CVLAN_STRIPPING, true) },
                        { rig.completions() },
                        {
                            val other = rig.pd.workQueue(WorkQueueAttributes.of(second.cq()))
                            val table = rig.context.indirectionTable(listOf(first, other))
                            val init = QueuePairInitAttributes.spreading(table, RxHash.toeplitz())
                            rig.pd.queuePair(init).flow(FlowAttributes.builder().build())
                            other.close()
                            table.isOpen shouldBe false
                        },
                    ).map { work ->
                        val failures = mutableListOf<Throwable>()
                        val thread =
                            Thread.ofPlatform().start {
                                while (!ends.get() && failures.isEmpty()) runCatching(work).onFailure(failures::add)
                            }
                        thread to failures
                    }
                repeat(10) { rig.transmit(30) }
                ends.set(true)
                threads.forEach { (thread, failures) ->
                    thread.join()
                    failures shouldBe emptyList()
                }
                first.modify(WorkQueueState.RESET)
                first.modify(WorkQueueState.RDY)
                rig.receive(64) // no slot is lost
                rig.transmit()
                rig.completions().count { it.status() == SUCCESS } shouldBeGreaterThan 0
            }
        }
    })
