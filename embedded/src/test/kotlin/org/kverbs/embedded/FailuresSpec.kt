package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.QueuePairInitAttributes
import org.kverbs.RdmaSystemException
import org.kverbs.SendRequests
import org.kverbs.WorkCompletionException
import org.kverbs.WorkCompletionOpcode
import org.kverbs.WorkCompletionOpcode.BIND_MW
import org.kverbs.WorkCompletionOpcode.LOCAL_INV
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.RECV_RDMA_WITH_IMM
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.WorkCompletionStatus
import org.kverbs.WorkCompletionStatus.LOC_LEN_ERR
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.REM_OP_ERR
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.WorkCompletions
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag.LOCAL_WRITE
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState.ERR
import org.kverbs.attributes.QueuePairState.RESET
import org.kverbs.attributes.QueuePairState.RTS
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD
import org.kverbs.embedded.Errno.EAGAIN
import org.kverbs.embedded.Errno.EINVAL
import org.kverbs.embedded.Errno.EIO
import org.kverbs.embedded.Errno.ENODEV
import org.kverbs.embedded.Errno.ENOMEM
import org.kverbs.embedded.Operation.CREATE_COMPLETION_QUEUE
import org.kverbs.embedded.Operation.CREATE_QUEUE_PAIR
import org.kverbs.embedded.Operation.MODIFY_QUEUE_PAIR
import org.kverbs.embedded.Operation.OPEN_DEVICE
import org.kverbs.embedded.Operation.POLL
import org.kverbs.embedded.Operation.POST_RECEIVE
import org.kverbs.embedded.Operation.POST_SEND
import org.kverbs.embedded.Operation.QUERY_DEVICE
import org.kverbs.embedded.Operation.REGISTER_MEMORY

/** Checks injected failures: the n-th call of an operation is refused, or the n-th request with an opcode fails. */
class FailuresSpec :
    FunSpec({
        fun failed(call: () -> Unit) = shouldThrow<RdmaSystemException> { call() }

        fun Pair.reconnect() {
            listOf(a, b).forEach { it.qp.modify(QueuePairAttributes.builder().state(RESET).build()) }
            a.qp.connect(b.qp.endpoint())
            b.qp.connect(a.qp.endpoint())
        }

        fun End.statuses(count: Int) = take(count).map { it.workRequestId().toInt() to it.status() }

        test(
            "should refuse the next creation with the errno, tell that a test injected it, and permit the one after it",
        ) {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val a = pair.a
                val injected = pair.fabric.inject(Failure.of(CREATE_QUEUE_PAIR, ENOMEM))
                val refusal = failed { a.pd.queuePair(QueuePairInitAttributes.of(RC, a.cq)) }
                refusal.errnoName() shouldBe "ENOMEM"
                refusal.operation() shouldBe "ibv_create_qp"
                refusal.advice() shouldBe "A test injected it: CREATE_QUEUE_PAIR with ENOMEM."
                a.pd.queuePair(QueuePairInitAttributes.of(RC, a.cq))
                injected.happened() shouldBe 1
                injected.seen() shouldBe 2
            }
        }

        test("should explain a refused creation without a query of the device that a test has injected a failure for") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val context = pair.client.open()
                val query = pair.fabric.inject(Failure.of(QUERY_DEVICE, EINVAL).times(2))
                pair.fabric.inject(Failure.of(CREATE_COMPLETION_QUEUE, EINVAL))
                failed { context.completionQueue(1) }.advice() shouldBe
                    "A test injected it: CREATE_COMPLETION_QUEUE with EINVAL."
                query.seen() shouldBe 0
                failed { context.completionQueue(Int.MAX_VALUE) }.advice() shouldNotContain "A test injected it"
                query.close()
                context.queryDevice()
                val other = pair.fabric.inject(Failure.of(QUERY_DEVICE, EINVAL))
                failed { context.completionQueue(Int.MAX_VALUE) }.advice() shouldStartWith "cqe 2147483647 is above"
                other.seen() shouldBe 0
                context.close()
            }
        }

        test("should refuse the third registration and the one after it, on one device only") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.fabric.inject(pair.client, Failure.of(REGISTER_MEMORY, EAGAIN).nth(3).times(2))
                val results =
                    List(
                        6,
                    ) {
                        runCatching {
                            pair.a.pd.memoryRegion(
                                8,
                                LOCAL_WRITE,
                            )
                        }.exceptionOrNull() as RdmaSystemException?
                    }
                results.map { it?.errnoName() } shouldBe listOf(null, null, "EAGAIN", "EAGAIN", null, null)
                repeat(6) { pair.b.pd.memoryRegion(8, LOCAL_WRITE) }
            }
        }

        test("should refuse calls of every kind, until the injection is closed") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                val always =
                    listOf(
                        OPEN_DEVICE to ENODEV,
                        QUERY_DEVICE to EIO,
                        CREATE_COMPLETION_QUEUE to EINVAL,
                        MODIFY_QUEUE_PAIR to EINVAL,
                    ).map { (operation, errno) ->
                        pair.fabric.inject(Failure.of(operation, errno).times(Int.MAX_VALUE))
                    }
                failed { pair.client.open() }.errnoName() shouldBe "ENODEV"
                repeat(2) { failed { a.context.queryDevice() }.errnoName() shouldBe "EIO" }
                always[1].close() // connecting queries the device's attributes, too
                failed { a.context.completionQueue(4) }.errnoName() shouldBe "EINVAL"
                failed {
                    a.pd
                        .queuePair(
                            QueuePairInitAttributes.of(RC, a.cq),
                        ).connect(b.qp.endpoint())
                }.message shouldContain
                    "A test injected it: MODIFY_QUEUE_PAIR with EINVAL, always."
                always.forEach { it.close() }
                a.context.completionQueue(4)
                pair.client.open().close()
            }
        }

        test("should refuse posts as a full queue does, and then take them") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                pair.fabric.inject(Failure.of(POST_SEND, ENOMEM).times(2))
                pair.fabric.inject(Failure.of(POST_RECEIVE, ENOMEM))
                val sends = SendRequests().send(1).inline(byteArrayOf(1)).signaled()
                a.qp.tryPost(sends) shouldBe 0
                val refusal = shouldThrow<WorkRequestException> { a.qp.post(sends) }
                refusal.index() shouldBe 0
                refusal.advice() shouldBe "A test injected it: POST_SEND with ENOMEM, 2 times."
                val other = shouldThrow<WorkRequestException> { b.qp.postReceive(1, b.mr.slice(0, 8)) }
                other.errnoName() shouldBe "ENOMEM"
                other.advice() shouldBe "A test injected it: POST_RECEIVE with ENOMEM."
                b.qp.postReceive(1, b.mr.slice(0, 8))
                a.qp.tryPost(sends) shouldBe 1
                a.statuses(1) shouldBe listOf(1 to SUCCESS)
            }
        }

        test("should not mention an injected refusal in the next exception if the program took it without one") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.fabric.inject(Failure.of(POST_SEND, ENOMEM))
                pair.a.qp.tryPost(SendRequests().send(1).inline(byteArrayOf(1)).signaled()) shouldBe 0
                shouldThrow<WorkRequestException> {
                    while (true) pair.a.qp.post(SendRequests().send(1).inline(byteArrayOf(1)))
                }.advice() shouldContain "The send queue is full"
            }
        }

        test("should fail the n-th poll, in real time too") {
            listOf(EmbeddedFabric.virtual(1), EmbeddedFabric.realTime(1)).forEach { fabric ->
                Pair(fabric).use { pair ->
                    pair.fabric.inject(pair.client, Failure.of(POLL, EIO).nth(2))
                    pair.a.cq.poll(WorkCompletions(1)) shouldBe 0
                    failed { pair.a.cq.poll(WorkCompletions(1)) }.errnoName() shouldBe "EIO"
                    pair.a.cq.poll(WorkCompletions(1)) shouldBe 0
                }
            }
        }

        listOf(RC, UC).forEach { type ->
            test("should fail the second write of $type with the status, signaled or not, and not carry it out") {
                Pair(EmbeddedFabric.virtual(1), type).use { pair ->
                    val (a, b) = pair
                    pair.fabric.inject(Failure.of(RDMA_WRITE, RETRY_EXC_ERR).nth(2))
                    a.post {
                        repeat(3) { write(it.toLong(), b.mr.remote().at(8L * it)).inline(ByteArray(8) { 7 }) }
                    }
                    a.statuses(2) shouldBe listOf(1 to RETRY_EXC_ERR, 2 to WR_FLUSH_ERR)
                    a.qp.state() shouldBe ERR
                    b.bytes(0, 16).toList() shouldBe List(8) { 7 } + List(8) { 0 }
                }
            }
        }

        test("should count a read that has to wait for its turn once") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                pair.fabric.setFaults(Faults.NONE.delay(java.time.Duration.ofMillis(1)))
                val injected = pair.fabric.inject(Failure.of(RDMA_READ, REM_ACCESS_ERR).nth(100))
                a.post { repeat(100) { read(it.toLong(), b.mr.remote()).into(a.mr.slice(8L * it, 8)).signaled() } }
                a.statuses(100).last() shouldBe (99 to REM_ACCESS_ERR)
                injected.seen() shouldBe 100
            }
        }

        test("should fail local requests") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                pair.fabric.inject(Failure.of(LOCAL_INV, WorkCompletionStatus.MW_BIND_ERR))
                pair.fabric.inject(Failure.of(BIND_MW, WorkCompletionStatus.MW_BIND_ERR))
                pair.a.post { localInvalidate(1, 77) }
                pair.a.statuses(1) shouldBe listOf(1 to WorkCompletionStatus.MW_BIND_ERR)
            }
        }

        test("should fail the second receive when its message comes, and tell the peer") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                pair.fabric.inject(pair.server, Failure.of(RECV, LOC_LEN_ERR).nth(2))
                repeat(3) { b.qp.postReceive(it.toLong(), b.mr.slice(8L * it, 8)) }
                a.post { repeat(2) { send(it.toLong()).inline(byteArrayOf(1)).signaled() } }
                b.statuses(3) shouldBe listOf(0 to SUCCESS, 1 to LOC_LEN_ERR, 2 to WR_FLUSH_ERR)
                a.statuses(2) shouldBe listOf(0 to SUCCESS, 1 to REM_OP_ERR)
            }
        }

        test("should fail the receive of a write with immediate data, which writes nothing") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                pair.fabric.inject(Failure.of(RECV_RDMA_WITH_IMM, LOC_PROT_ERR))
                b.qp.postReceive(1, b.mr.slice(100, 8))
                a.post { writeWithImmediate(1, b.mr.remote(), 5).inline(byteArrayOf(1)).signaled() }
                b.statuses(1) shouldBe listOf(1 to LOC_PROT_ERR)
                a.statuses(1) shouldBe listOf(1 to REM_OP_ERR)
                b.bytes(0, 1).single() shouldBe 0
            }
        }

        // The answer of 16 MiB is still in flight when the message comes; the peer then has to repeat it.
        for (bytes in listOf(4096L, 16L shl 20)) {
            test("should fail a receive whose message comes after a read of $bytes bytes, and count it once") {
                Pair(EmbeddedFabric.virtual(1), bytes = bytes).use { pair ->
                    val (a, b) = pair
                    val kinds =
                        mapOf<WorkCompletionOpcode, SendRequests.() -> Unit>(
                            RECV to { send(2).from(a.mr.slice(0, 8)).signaled() },
                            RECV_RDMA_WITH_IMM to
                                { writeWithImmediate(2, b.mr.remote(), 5).inline(byteArrayOf(1)).signaled() },
                        )
                    for ((kind, request) in kinds) {
                        b.qp.postReceive(7, b.mr.slice(0, 64))
                        val injected = pair.fabric.inject(pair.server, Failure.of(kind, LOC_PROT_ERR))
                        a.post {
                            read(1, b.mr.remote()).into(a.mr.slice()).signaled()
                            request()
                        }
                        a.statuses(2) shouldBe listOf(1 to SUCCESS, 2 to REM_OP_ERR)
                        b.statuses(1) shouldBe listOf(7 to LOC_PROT_ERR)
                        (injected.seen() to injected.happened()) shouldBe (1 to 1)
                        pair.reconnect()
                    }
                }
            }
        }

        test("should tell that a test injected a completion's failure, and of no other completion") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair

                fun End.messages(count: Int) =
                    take(count).map {
                        shouldThrow<WorkCompletionException> { it.orThrow() }.message.orEmpty()
                    }
                for (inject in listOf(
                    SEND to REM_ACCESS_ERR,
                    LOCAL_INV to WorkCompletionStatus.MW_BIND_ERR,
                    RECV to LOC_LEN_ERR,
                )) {
                    val (opcode, status) = inject
                    repeat(2) { b.qp.postReceive(it.toLong(), b.mr.slice(0, 8)) }
                    pair.fabric.inject(Failure.of(opcode, status))
                    a.post {
                        if (opcode == LOCAL_INV) localInvalidate(1, 77)
                        repeat(
                            if (opcode == LOCAL_INV) {
                                1
                            } else {
                                2
                            },
                        ) { send(it.toLong()).inline(byteArrayOf(1)).signaled() }
                    }
                    val (failing, other) = if (opcode == RECV) b to a else a to b
                    val (first, second) = failing.messages(2)
                    first shouldContain "$status, vendor error 0x7e57 (a test injected it): "
                    second shouldContain "WR_FLUSH_ERR, vendor error 0x0: "
                    if (opcode == RECV) other.messages(2).forEach { it shouldContain "vendor error 0x0: " }
                    pair.reconnect()
                }
            }
        }

        test("should fail a datagram") {
            EmbeddedFabric.virtual(1).use { fabric ->
                End(fabric.addDevice(), UD, 64).use { a ->
                    a.qp.activate(org.kverbs.attributes.ConnectOptions.DEFAULTS)
                    val to = a.qp.addressHandle(a.qp.endpoint(), org.kverbs.attributes.ConnectOptions.DEFAULTS)
                    fabric.inject(Failure.of(SEND, LOC_PROT_ERR).nth(2))
                    a.post {
                        repeat(
                            2,
                        ) { send(it.toLong()).inline(byteArrayOf(1)).to(to, a.qp.number(), 1).signaled() }
                    }
                    a.statuses(2) shouldBe listOf(0 to SUCCESS, 1 to LOC_PROT_ERR)
                }
            }
        }

        test("should refuse nothing after the injected failure has happened, on devices that were added later too") {
            EmbeddedFabric.virtual(1).use { fabric ->
                fabric.inject(Failure.of(CREATE_COMPLETION_QUEUE, ENOMEM))
                fabric.addDevice().open().use { context ->
                    failed { context.completionQueue(4) }
                    context.completionQueue(4)
                }
                Pair(fabric).let { (a, b) ->
                    a.post { write(1, b.mr.remote()).inline(byteArrayOf(1)).signaled() }
                    a.statuses(1) shouldBe listOf(1 to SUCCESS)
                    a.qp.state() shouldBe RTS
                    a.close()
                    b.close()
                }
            }
        }

        test("should refuse a failure with SUCCESS or a number below 1") {
            shouldThrow<IllegalArgumentException> { Failure.of(SEND, SUCCESS) }.message shouldBe
                "the status is SUCCESS: inject a status that is an error"
            shouldThrow<IllegalArgumentException> { Failure.of(POLL, EIO).nth(0) }.message shouldBe
                "nth(0): give a number from 1"
            Failure.of(POST_SEND, ENOMEM).nth(3).times(2).toString() shouldBe
                "POST_SEND with ENOMEM, from number 3 on, 2 times"
        }
    })
