package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.CompletionQueue
import org.kverbs.MemoryRegion
import org.kverbs.QueuePair
import org.kverbs.QueuePairInitAttributes
import org.kverbs.SendRequests
import org.kverbs.WorkCompletions
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.QueuePairCapabilities
import org.kverbs.attributes.QueuePairType
import java.util.function.Consumer

private const val SHORT = 64L
private const val ENTRIES = 4

/** Two connected queue pairs of one device with one completion queue; the near one may be made otherwise. */
private class OneQueue(
    capabilities: QueuePairCapabilities = QueuePairInitAttributes.DEFAULT_CAPABILITIES,
    signalAll: Boolean = false,
) : AutoCloseable {
    private val fabric = EmbeddedFabric.realTime(1)
    private val context = fabric.addDevice().open()
    private val pd = context.protectionDomain()
    val cq: CompletionQueue = context.completionQueue(ENTRIES)
    val mr: MemoryRegion = pd.memoryRegion(2 * SHORT, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE)
    val near: QueuePair =
        pd.queuePair(QueuePairInitAttributes(QueuePairType.RC, cq, cq, null, capabilities, signalAll))
    val far: QueuePair = pd.queuePair(QueuePairInitAttributes.of(QueuePairType.RC, cq))

    init {
        near.connect(far.endpoint())
        far.connect(near.endpoint())
    }

    fun post(requests: SendRequests.() -> Unit) = near.postWith(Consumer { it.requests() })

    fun write(id: Long) = post { write(id, mr.remote()).from(mr.slice(0, SHORT)).signaled() }

    fun receive(id: Long) = far.postReceive(id, mr.slice(SHORT, SHORT))

    /** Returns how many requests and receives went the direct path. */
    fun direct(): Long {
        fabric.engine().enter()
        try {
            var sum = 0L
            fabric.hca(fabric.devices().single()).queuePairs.forEach { sum += it.direct.made() }
            return sum
        } finally {
            fabric.engine().leave()
        }
    }

    fun take(): List<String> {
        val batch = WorkCompletions(ENTRIES)
        return List(cq.poll(batch)) { batch.get(it).run { "${workRequestId()} ${status()} ${opcode()}" } }
    }

    override fun close() {
        context.close()
        fabric.close()
    }
}

/** Checks direct messages that complete in one queue, or find little room there. */
class DirectQueueSpec :
    FunSpec({
        test("should carry out a message directly whose two ends complete in one queue, the receive first") {
            OneQueue().use { ends ->
                repeat(3) {
                    ends.receive(1)
                    ends.post { send(2).from(ends.mr.slice(0, SHORT)).signaled() }
                    ends.take() shouldContainExactly listOf("1 SUCCESS RECV", "2 SUCCESS SEND")
                    ends.receive(3)
                    ends.post { writeWithImmediate(4, ends.mr.remote(), 5).from(ends.mr.slice(0, SHORT)).signaled() }
                    ends.take() shouldContainExactly listOf("3 SUCCESS RECV_RDMA_WITH_IMM", "4 SUCCESS RDMA_WRITE")
                }
                ends.direct() shouldBe 12
            }
        }

        test("should fill one queue of both ends to the last place, and let the usual path overrun it") {
            OneQueue().use { ends ->
                ends.receive(1)
                ends.post { send(2).from(ends.mr.slice(0, SHORT)).signaled() }
                ends.receive(3)
                ends.post { send(4).from(ends.mr.slice(0, SHORT)).signaled() }
                ends.direct() shouldBe 4
                ends.take().size shouldBe ENTRIES
                repeat(3) { ends.write(5) }
                ends.receive(6)
                ends.direct() shouldBe 8
                ends.post { send(7).from(ends.mr.slice(0, SHORT)).signaled() } // there is room for one of two
                ends.direct() shouldBe 8
                ends.take() shouldContainExactly List(3) { "5 SUCCESS RDMA_WRITE" } + "6 SUCCESS RECV"
            }
        }

        test("should refuse a request for which the send queue has no place, until completions were polled") {
            OneQueue(QueuePairCapabilities(2, 1, 1, 1, 0)).use { ends ->
                val places = ends.near.capabilities().maxSendWr()
                repeat(places) { ends.write(it.toLong()) }
                ends.direct() shouldBe places
                shouldThrow<WorkRequestException> { ends.write(9) }.message shouldContain "send queue is full"
                ends.direct() shouldBe places
                ends.take().size shouldBe places
                ends.write(9)
                ends.direct() shouldBe places + 1
                ends.take() shouldContainExactly listOf("9 SUCCESS RDMA_WRITE")
            }
        }

        test("should refuse inline bytes beyond those of the queue pair") {
            OneQueue(QueuePairCapabilities(2, 1, 1, 1, 16)).use { ends ->
                val most = ends.near.capabilities().maxInlineData()
                shouldThrow<WorkRequestException> {
                    ends.post { write(1, ends.mr.remote()).inline(ends.mr.slice(0, most + 1L)).signaled() }
                }.message shouldContain "max_inline_data"
                ends.direct() shouldBe 0
                ends.take().shouldBeEmpty()
            }
        }

        test("should refuse an entry where the queue pair has none") {
            OneQueue(QueuePairCapabilities(2, 1, 0, 1, 0)).use { ends ->
                shouldThrow<WorkRequestException> { ends.write(1) }.message shouldContain "max_send_sge"
                ends.direct() shouldBe 0
                ends.take().shouldBeEmpty()
            }
        }

        test("should complete each request of a queue pair that signals all") {
            OneQueue(signalAll = true).use { ends ->
                ends.post { write(1, ends.mr.remote()).from(ends.mr.slice(0, SHORT)) }
                ends.direct() shouldBe 1
                ends.take() shouldContainExactly listOf("1 SUCCESS RDMA_WRITE")
            }
        }
    })
