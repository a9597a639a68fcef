package org.kverbs.acceptance.contract

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.RdmaSystemException
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkCompletionOpcode.COMP_SWAP
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkRequestException
import org.kverbs.XrcDomainAttributes
import org.kverbs.acceptance.contract.Capability.ATOMICS
import org.kverbs.acceptance.contract.Capability.EXTENDED_QUEUES
import org.kverbs.acceptance.contract.Capability.XRC
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.AccessFlag.RELAXED_ORDERING
import org.kverbs.attributes.AsyncEventType
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.XRC_RECV
import org.kverbs.attributes.QueuePairType.XRC_SEND
import org.kverbs.attributes.SharedReceiveQueueAttributes
import java.nio.file.Files
import java.time.Duration
import kotlin.io.path.deleteIfExists
import kotlin.io.path.div

/** Checks extended reliable connections: their operations, their shared receive queues and their domains. */
internal class XrcSpec :
    ContractSpec({
        case("should say that it has XRC", XRC) {
            (DeviceCapability.XRC in context.queryDevice().capabilities()) shouldBe true
        }

        case("should deliver messages to the queues that they name, through one connection", XRC) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            val first = namedQueue(domain)
            val second = namedQueue(domain)
            (first.number == second.number) shouldBe false
            first.receive(1)
            second.receive(2)
            a.post {
                send(11).inline(pattern(40, seed = 1)).toSharedReceiveQueue(second.number).signaled()
                sendWithImmediate(12, 9).inline(pattern(50, seed = 2)).toSharedReceiveQueue(first.number).signaled()
            }
            val sent = a.cq.take(2)
            sent[0].shouldBeDone(11, SEND, a.qp)
            sent[1].shouldBeDone(12, SEND, a.qp)
            second.cq.takeOne().shouldBeDone(2, RECV, receiver.number(), bytes = 40)
            first.cq.takeOne().shouldBeDone(1, RECV, receiver.number(), bytes = 50, immediate = 9)
            second.mr.bytes(40) shouldBe pattern(40, seed = 1)
            first.mr.bytes(50) shouldBe pattern(50, seed = 2)
        }

        case(
            "should write, read and complete a write with a receive of the named queue, in messages of many packets",
            XRC,
        ) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            val queue = namedQueue(domain)
            queue.receive(7)
            a.mr.put(pattern(10_000))
            a.post {
                write(1, queue.mr.remote()).from(a.mr.slice(0, 10_000)).toSharedReceiveQueue(queue.number).signaled()
                writeWithImmediate(2, queue.mr.remote().at(12_000), 0xcafe)
                    .from(a.mr.slice(0, 3000))
                    .toSharedReceiveQueue(queue.number)
                    .signaled()
                read(3, queue.mr.remote()).into(a.mr.slice(10_000, 6000)).toSharedReceiveQueue(queue.number).signaled()
            }
            val (write, announced, read) = a.cq.take(3)
            write.shouldBeDone(1, RDMA_WRITE, a.qp)
            announced.shouldBeDone(2, RDMA_WRITE, a.qp)
            read.shouldBeDone(3, RDMA_READ, a.qp, bytes = 6000)
            queue.cq
                .takeOne()
                .shouldBeDone(7, RECV_RDMA_WITH_IMM, receiver.number(), bytes = 3000, immediate = 0xcafe)
            queue.mr.bytes(10_000) shouldBe pattern(10_000)
            queue.mr.bytes(3000, 12_000) shouldBe pattern(10_000).copyOf(3000)
            a.mr.bytes(6000, 10_000) shouldBe pattern(10_000).copyOf(6000)
        }

        case("should carry out atomics", XRC, ATOMICS) {
            val domain = context.xrcDomain()
            val (a) = sendingTo(domain)
            val queue = namedQueue(domain)
            queue.mr.putLong(5)
            a.post {
                fetchAndAdd(1, queue.mr.remote(), 3)
                    .into(a.mr.slice(0, 8))
                    .toSharedReceiveQueue(queue.number)
                    .signaled()
                compareAndSwap(2, queue.mr.remote(), 8, 100)
                    .into(a.mr.slice(8, 8))
                    .toSharedReceiveQueue(queue.number)
                    .signaled()
            }
            val (added, swapped) = a.cq.take(2)
            added.shouldBeDone(1, FETCH_ADD, a.qp)
            swapped.shouldBeDone(2, COMP_SWAP, a.qp)
            a.mr.long() shouldBe 5
            a.mr.long(8) shouldBe 8
            queue.mr.long() shouldBe 100
        }

        case("should reach the memory of the protection domain of the named queue, and of no other", XRC) {
            val domain = context.xrcDomain()
            val (a) = sendingTo(domain)
            val queue = namedQueue(domain)
            val stranger = namedQueue(domain, context.protectionDomain())
            a.post {
                write(1, queue.mr.remote()).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled()
                write(2, stranger.mr.remote()).inline(pattern(8)).toSharedReceiveQueue(stranger.number).signaled()
                write(3, stranger.mr.remote()).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled()
            }
            val (own, others, wrong) = a.cq.take(3)
            own.shouldBeDone(1, RDMA_WRITE, a.qp)
            others.shouldBeDone(2, RDMA_WRITE, a.qp)
            wrong.shouldHaveFailed(3, WorkCompletionStatus.REM_ACCESS_ERR, a.qp)
        }

        case("should wait for a receive of the named queue, and fail when none comes", XRC) {
            val domain = context.xrcDomain()
            val options = ConnectOptions.builder().rnrRetry(7).build()
            val (patient, receiver) = sendingTo(domain, options)
            val queue = namedQueue(domain)
            patient.post { send(1).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled() }
            patient.cq.shouldStayEmpty()
            queue.receive(2)
            patient.cq.takeOne().shouldBeDone(1, SEND, patient.qp)
            queue.cq.takeOne().shouldBeDone(2, RECV, receiver.number(), bytes = 8)
            val (hasty) = sendingTo(domain, ConnectOptions.builder().rnrRetry(1).minRnrTimer(1).build())
            hasty.post { send(3).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled() }
            hasty.cq.takeOne().shouldHaveFailed(3, WorkCompletionStatus.RNR_RETRY_EXC_ERR, hasty.qp)
        }

        case("should serve many senders from one queue, and tell them apart by their receiving queue pairs", XRC) {
            val domain = context.xrcDomain()
            val queue = namedQueue(domain, maxWr = 64)
            val senders = List(5) { sendingTo(domain) }
            repeat(20) { queue.receive(it.toLong(), offset = it * 64L, length = 64) }
            repeat(4) { round ->
                senders.forEachIndexed { i, (end) ->
                    end.post {
                        send(i.toLong()).inline(pattern(60, seed = i)).toSharedReceiveQueue(queue.number).signaled()
                    }
                    end.cq.takeOne().shouldBeDone(i.toLong(), SEND, end.qp)
                    val id = round * 5L + i
                    queue.cq.takeOne().shouldBeDone(id, RECV, senders[i].second.number(), bytes = 60)
                    queue.mr.bytes(60, id * 64) shouldBe pattern(60, seed = i)
                }
            }
        }

        case("should refuse a message to a number that no queue has, and end the connection", XRC) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            val queue = namedQueue(domain)
            queue.receive(1)
            a.post { send(1).inline(pattern(8)).toSharedReceiveQueue(queue.number xor 1).signaled() }
            a.cq.takeOne().shouldHaveFailed(1, WorkCompletionStatus.REM_INV_REQ_ERR, a.qp)
            await("the receiving end is in the error state") { receiver.state() == QueuePairState.ERR }
            val events = List(2) { context.awaitAsyncEvent(Duration.ofSeconds(10)).shouldNotBeNull() }
            events.map { it.type() to it.source() } shouldBe
                listOf(AsyncEventType.QP_REQ_ERR to receiver, AsyncEventType.QP_LAST_WQE_REACHED to receiver)
            queue.cq.shouldStayEmpty()
        }

        case("should refuse a message to a queue of another domain", XRC) {
            val domain = context.xrcDomain()
            val (a) = sendingTo(domain)
            val elsewhere = namedQueue(context.xrcDomain())
            elsewhere.receive(1)
            a.post { send(1).inline(pattern(8)).toSharedReceiveQueue(elsewhere.number).signaled() }
            a.cq.takeOne().shouldHaveFailed(1, WorkCompletionStatus.REM_INV_REQ_ERR, a.qp)
            elsewhere.cq.shouldStayEmpty()
        }

        case("should refuse a request that names no queue, before the device sees it", XRC) {
            val domain = context.xrcDomain()
            val (a) = sendingTo(domain)
            val queue = namedQueue(domain)
            val refusal =
                shouldThrow<WorkRequestException> {
                    a.post {
                        write(1, queue.mr.remote()).inline(pattern(8)).toSharedReceiveQueue(queue.number)
                        send(2).inline(pattern(8))
                        send(3).inline(pattern(8)).toSharedReceiveQueue(queue.number)
                    }
                }
            refusal.index() shouldBe 1
            refusal.message shouldContain "add toSharedReceiveQueue(number)"
            a.qp.state() shouldBe QueuePairState.RTS
        }

        case("should raise an event once when the named queue has fewer receives than its limit", XRC) {
            val domain = context.xrcDomain()
            val (a) = sendingTo(domain)
            val queue = namedQueue(domain)
            repeat(3) { queue.receive(it.toLong()) }
            queue.srq.limit(3)
            a.post { send(1).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled() }
            a.cq.takeOne()
            val event = context.awaitAsyncEvent(Duration.ofSeconds(10)).shouldNotBeNull()
            event.type() shouldBe AsyncEventType.SRQ_LIMIT_REACHED
            event.source() shouldBe queue.srq
        }

        case("should post by the extended calls", XRC) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain, end = extendedEnd(XRC_SEND))
            val queue = namedQueue(domain)
            queue.receive(1)
            a.mr.put(pattern(100))
            a.post {
                send(5).from(a.mr.slice(0, 100)).toSharedReceiveQueue(queue.number)
                read(6, queue.mr.remote()).into(a.mr.slice(200, 100)).toSharedReceiveQueue(queue.number).signaled()
            }
            a.cq.takeOne().shouldBeDone(6, RDMA_READ, a.qp)
            queue.cq.takeOne().shouldBeDone(1, RECV, receiver.number(), bytes = 100)
            a.mr.bytes(100, 200) shouldBe pattern(100)
        }

        case("should send immediate data by the extended calls", XRC, EXTENDED_QUEUES) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain, end = extendedEnd(XRC_SEND))
            val queue = namedQueue(domain)
            queue.receive(1)
            a.mr.put(pattern(100))
            a.post { sendWithImmediate(5, -9).from(a.mr.slice(0, 100)).toSharedReceiveQueue(queue.number).signaled() }
            a.cq.takeOne().shouldBeDone(5, SEND, a.qp)
            queue.cq.takeOne().shouldBeDone(1, RECV, receiver.number(), bytes = 100, immediate = -9)
            queue.mr.bytes(100) shouldBe pattern(100)
        }

        case("should move data with relaxed ordering", XRC) {
            val relaxed = memory(4096, LOCAL_WRITE, RELAXED_ORDERING)
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            val queue = namedQueue(domain)
            relaxed.put(pattern(100))
            queue.srq.postReceive(7, relaxed.slice(1000, 1000))
            a.post { send(1).from(relaxed.slice(0, 100)).toSharedReceiveQueue(queue.number).signaled() }
            a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
            queue.cq.takeOne().shouldBeDone(7, RECV, receiver.number(), bytes = 100)
            relaxed.bytes(100, 1000) shouldBe pattern(100)
        }

        case("should share the domain of a file among contexts, and open a queue pair of it by its number", XRC) {
            val folder = Files.createTempDirectory("xrc")
            val file = folder / "domain"
            try {
                shouldThrow<RdmaSystemException> {
                    context.xrcDomain(XrcDomainAttributes.of(file).existing())
                }.errnoName() shouldBe "ENOENT"
                val domain = context.xrcDomain(XrcDomainAttributes.of(file))
                Bench(device).use { other ->
                    val same = other.context.xrcDomain(XrcDomainAttributes.of(file).existing())
                    shouldThrow<RdmaSystemException> {
                        other.context.xrcDomain(XrcDomainAttributes.of(file).fresh())
                    }.errnoName() shouldBe "EINVAL"
                    val (a, receiver) = sendingTo(domain)
                    val queue = other.namedQueue(same)
                    queue.receive(1)
                    a.post { send(1).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled() }
                    a.cq.takeOne().shouldBeDone(1, SEND, a.qp)
                    queue.cq.takeOne().shouldBeDone(1, RECV, receiver.number(), bytes = 8)
                    val opened = same.openQueuePair(receiver.number())
                    opened.number() shouldBe receiver.number()
                    opened.state() shouldBe receiver.state()
                    receiver.close()
                    opened.state() shouldBe QueuePairState.RTS
                    queue.receive(2)
                    a.post { send(2).inline(pattern(8)).toSharedReceiveQueue(queue.number).signaled() }
                    a.cq.takeOne().shouldBeDone(2, SEND, a.qp)
                    queue.cq.takeOne().shouldBeDone(2, RECV, opened.number(), bytes = 8)
                    opened.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                    val event = other.context.awaitAsyncEvent(Duration.ofSeconds(10)).shouldNotBeNull()
                    event.type() shouldBe AsyncEventType.QP_LAST_WQE_REACHED
                    event.source() shouldBe opened
                }
                context.awaitAsyncEvent(Duration.ZERO) shouldBe null
            } finally {
                file.deleteIfExists()
                folder.deleteIfExists()
            }
        }

        case("should find the queue pairs of a domain only", XRC) {
            val domain = context.xrcDomain()
            val other = context.xrcDomain()
            val receiver = domain.queuePair()
            val wrong = listOf(receiver.number() xor 1, queuePair(RC).number())
            wrong.forEach {
                shouldThrow<RdmaSystemException> { domain.openQueuePair(it) }.errnoName() shouldBe "EINVAL"
            }
            shouldThrow<RdmaSystemException> { other.openQueuePair(receiver.number()) }.errnoName() shouldBe "EINVAL"
            shouldThrow<IllegalArgumentException> { domain.openQueuePair(-1) }
        }

        case("should close what was made in a domain with it, and what a queue of it was made from", XRC) {
            val domain = context.xrcDomain()
            val cq = cq()
            val queue = namedQueue(domain, cq = cq)
            val (a, receiver) = sendingTo(domain)
            val opened = domain.openQueuePair(receiver.number())
            domain.close()
            listOf(receiver, opened, queue.srq).map { it.isOpen } shouldBe listOf(false, false, false)
            listOf(a.qp, cq).map { it.isOpen } shouldBe listOf(true, true)
            val again = context.xrcDomain()
            val second = namedQueue(again, cq = cq)
            cq.close()
            second.srq.isOpen shouldBe false
            shouldThrow<IllegalStateException> { second.srq.number() }
        }

        case("should not answer a sender whose receiving end is closed, nor deliver to a closed queue", XRC) {
            val domain = context.xrcDomain()
            val hasty = ConnectOptions.builder().timeout(10).retryCount(1).build()
            val (a, receiver) = sendingTo(domain, hasty)
            val queue = namedQueue(domain)
            val number = queue.number
            queue.receive(1)
            queue.srq.close()
            a.post { send(1).inline(pattern(8)).toSharedReceiveQueue(number).signaled() }
            a.cq.takeOne().shouldHaveFailed(1, WorkCompletionStatus.REM_INV_REQ_ERR, a.qp)
            queue.cq.shouldStayEmpty()
            receiver.close()
            val (b, closed) = sendingTo(domain, hasty)
            closed.close()
            b.post { send(2).inline(pattern(8)).toSharedReceiveQueue(number).signaled() }
            b.cq.takeOne().shouldHaveFailed(2, WorkCompletionStatus.RETRY_EXC_ERR, b.qp)
        }

        case("should query and move both ends, and refuse attributes that an end does not have", XRC) {
            val domain = context.xrcDomain()
            val (a, receiver) = sendingTo(domain)
            a.qp.query().destQpn() shouldBe receiver.number()
            receiver.query().destQpn() shouldBe a.qp.number()
            a.qp.capabilities().maxRecvWr() shouldBe 0
            val lacking =
                shouldThrow<RdmaSystemException> {
                    domain.queuePair().modify(
                        QueuePairAttributes.builder().state(QueuePairState.INIT).pkeyIndex(0).port(PORT).build(),
                    )
                }
            lacking.advice() shouldContain
                "RESET -> INIT of XRC_RECV queue pairs lacks required attributes: ACCESS_FLAGS"
            val refused =
                shouldThrow<RdmaSystemException> {
                    a.qp.modify(QueuePairAttributes.builder().minRnrTimer(1).build())
                }
            refused.advice() shouldContain "RTS -> RTS of XRC_SEND queue pairs does not take these attributes: MIN_RNR"
            receiver.modify(QueuePairAttributes.builder().minRnrTimer(1).build())
        }

        case("should refuse receives on the sending end, and types and queues that do not fit", XRC) {
            val domain = context.xrcDomain()
            val a = end(XRC_SEND)
            shouldThrow<WorkRequestException> { a.qp.postReceive(1, a.mr.slice()) }.errnoName() shouldBe "EINVAL"
            shouldThrow<IllegalArgumentException> { queuePair(XRC_RECV) }.message shouldContain "XrcDomain"
            val queue = namedQueue(domain)
            shouldThrow<IllegalArgumentException> { end(srq = queue.srq) }.message shouldContain "XRC domain"
            val basic = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
            shouldThrow<IllegalArgumentException> { end(XRC_SEND, srq = basic) }.message shouldContain "leave srq out"
            shouldThrow<RdmaSystemException> { basic.number() }.operation() shouldBe "ibv_get_srq_num"
            Bench(device).use { other ->
                val elsewhere = other.context.xrcDomain()
                shouldThrow<IllegalArgumentException> { namedQueue(elsewhere) }.message shouldContain
                    "belongs to another open device"
            }
            val most = context.queryDevice().maxSrqWr()
            shouldThrow<RdmaSystemException> { namedQueue(domain, maxWr = most + 1) }.advice() shouldContain
                "max_srq_wr"
        }

        case("should number its queues with 24 bits, each differently", XRC) {
            val domain = context.xrcDomain()
            val queues = List(20) { pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(1, 1), domain, cq()) }
            val numbers = queues.map(SharedReceiveQueue::number)
            numbers.toSet().size shouldBe 20
            numbers.all { it in 0..0xffffff } shouldBe true
            queues.map { it.xrcDomain() }.toSet() shouldBe setOf(domain)
        }
    })
