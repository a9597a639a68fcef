package org.kverbs.embedded

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldBeSingleton
import io.kotest.matchers.nulls.shouldBeNull
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.Diagnostics
import org.kverbs.QueuePairInitAttributes
import org.kverbs.WorkCompletionOpcode.FETCH_ADD
import org.kverbs.WorkCompletionOpcode.RDMA_READ
import org.kverbs.WorkCompletionOpcode.RDMA_WRITE
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionOpcode.SEND
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairAttributes
import org.kverbs.attributes.QueuePairState
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.SharedReceiveQueueAttributes
import org.kverbs.embedded.BufferMisuse.Kind.DESTINATION_WRITTEN
import org.kverbs.embedded.BufferMisuse.Kind.OVERLAP
import org.kverbs.embedded.BufferMisuse.Kind.REGION_CLOSED
import org.kverbs.embedded.BufferMisuse.Kind.SOURCE_CHANGED
import org.kverbs.embedded.Semantics.RXE
import org.kverbs.embedded.Semantics.STRICT
import java.lang.foreign.ValueLayout.JAVA_BYTE

/** Makes each mistake that the diagnostics find, once. */
class DiagnosticsSpec :
    FunSpec({
        test("should report a source that was changed before its completion was polled, though it had arrived") {
            diagnosed { (a, b) ->
                a.post { write(5, b.mr.remote()).from(a.mr.slice(64, 32)).signaled() }
                a.put(70, 1)
                a.take(1)
                b.bytes(0, 32) shouldBe ByteArray(32)
                fabric.misuses().single().run {
                    kind shouldBe SOURCE_CHANGED
                    buffer shouldBe
                        PostedBuffer("embedded0", a.qp.number(), 5, RDMA_WRITE, a.mr.address() + 64, 32, null)
                    offset shouldBe 6
                    other.shouldBeNull()
                }
            }
        }

        test(
            "should report the changed source of an unsignaled send when a later completion of its queue says that " +
                "it is done",
        ) {
            diagnosed { (a, b) ->
                b.receive(1, 0, 8)
                b.receive(2, 8, 8)
                a.post { send(3).from(a.mr.slice(0, 8)) }
                a.put(7, 1)
                a.post { send(4).from(a.mr.slice(8, 8)).signaled() }
                fabric.misuses().shouldBeEmpty()
                a.take(1)
                fabric.misuses().single().run { Triple(kind, buffer.workRequestId(), offset) } shouldBe
                    Triple(SOURCE_CHANGED, 3L, 7L)
            }
        }

        test(
            "should report the changed source of unsignaled sends without a signaled one, when a card's queue would " +
                "be full",
        ) {
            // A strict device refuses the 257th.
            diagnosed(semantics = RXE) { (a, b) ->
                a.post { write(3, b.mr.remote()).from(a.mr.slice(0, 8)) }
                a.put(0, 1)
                repeat(256) { a.post { write(4, b.mr.remote()).from(a.mr.slice(8, 8)) } }
                fabric.misuses().single().run { kind to buffer.workRequestId() } shouldBe (SOURCE_CHANGED to 3L)
            }
        }

        test("should ignore changes of inline data") {
            diagnosed { (a, b) ->
                // As many times as the queue has slots, so that the last one is reused.
                repeat(256) {
                    a.post { write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled() }
                    a.take(1)
                }
                a.post { write(1, b.mr.remote()).inline(a.mr.slice(0, 8)).signaled() }
                a.put(0, 1)
                a.take(1)
                fabric.misuses().shouldBeEmpty()
            }
        }

        test("should report a posted receive that the program wrote to") {
            diagnosed { (a, b) ->
                b.receive(9, 128, 64)
                b.put(130, 1)
                a.post { send(1).from(a.mr.slice(0, 8)).signaled() }
                b.take(1)
                fabric.misuses().single().run {
                    kind shouldBe DESTINATION_WRITTEN
                    buffer shouldBe PostedBuffer("embedded1", b.qp.number(), 9, RECV, b.mr.address() + 128, 64, null)
                    offset shouldBe 2
                }
            }
        }

        test("should report the destination of a read and of an atomic that the program wrote to") {
            diagnosed { (a, b) ->
                a.post { read(1, b.mr.remote()).into(a.mr.slice(0, 200_000)) }
                a.post { fetchAndAdd(2, b.mr.remote(), 1).into(a.mr.slice(262_144, 8)).signaled() }
                a.put(199_999, 1)
                a.put(262_144, 1)
                a.take(1)
                fabric.misuses().map { Triple(it.kind, it.buffer.opcode, it.offset) } shouldBe
                    listOf(Triple(DESTINATION_WRITTEN, RDMA_READ, 199_999L), Triple(DESTINATION_WRITTEN, FETCH_ADD, 0L))
            }
        }

        test(
            "should show poison before the completion is polled, then the data, and the old bytes beyond it",
        ) {
            diagnosed { (a, b) ->
                a.fill(1)
                b.fill(2)
                val old = b.bytes(0, 64)
                b.receive(1, 0, 64)
                a.post { send(1).from(a.mr.slice(0, 16)) }
                a.post { read(2, b.mr.remote().at(1024)).into(a.mr.slice(1024, 64)).signaled() }
                b.bytes(0, 64) shouldBe ByteArray(64) { BufferMisuse.POISON }
                a.bytes(1024, 64) shouldBe ByteArray(64) { BufferMisuse.POISON }
                b.take(1)
                a.take(1)
                b.bytes(0, 64) shouldBe a.bytes(0, 16) + old.drop(16)
                a.bytes(1024, 64) shouldBe b.bytes(1024, 64)
                fabric.misuses().shouldBeEmpty()
            }
        }

        test("should report receives that overlap, and then place each message as without the diagnostics") {
            diagnosed { (a, b) ->
                a.fill(1)
                b.receive(1, 0, 64)
                b.receive(2, 32, 64)
                b.receive(3, 32, 64)
                a.post { send(1).from(a.mr.slice(0, 64)).signaled() }
                a.post { send(2).from(a.mr.slice(64, 64)).signaled() }
                b.take(2)
                b.bytes(0, 96) shouldBe a.bytes(0, 32) + a.bytes(64, 64)
                a.take(2)
                fabric.misuses().map {
                    listOf(
                        it.kind,
                        it.buffer.workRequestId(),
                        it.offset,
                        it.other?.workRequestId(),
                    )
                } shouldBe
                    listOf(listOf(OVERLAP, 2L, 0L, 1L), listOf(OVERLAP, 3L, 0L, 1L))
            }
        }

        test("should report a receive into the source of a send, and a send from the memory of a receive") {
            diagnosed { (a, b) ->
                a.post { write(1, b.mr.remote().at(512)).from(a.mr.slice(0, 64)).signaled() }
                a.receive(2, 60, 8)
                a.post { write(3, b.mr.remote().at(512)).from(a.mr.slice(0, 64)).signaled() }
                fabric.misuses().map { listOf(it.kind, it.buffer.opcode(), it.offset, it.other?.opcode()) } shouldBe
                    listOf(listOf(OVERLAP, RECV, 0L, RDMA_WRITE), listOf(OVERLAP, RDMA_WRITE, 60L, RECV))
                a.take(2)
            }
        }

        test("should report a send from the destination of a read, if it has no fence") {
            diagnosed { (a, b) ->
                b.receive(1, 0, 64)
                a.post { read(1, b.mr.remote()).into(a.mr.slice(0, 64)) }
                a.post { send(2).from(a.mr.slice(0, 64)).signaled() }
                fabric.misuses().single().run { Triple(kind, buffer.opcode(), other?.opcode()) } shouldBe
                    Triple(OVERLAP, SEND, RDMA_READ)
            }
        }

        test(
            "should report a region that is deregistered or reregistered while a receive or an unpolled send uses " +
                "it",
        ) {
            diagnosed { (a, b) ->
                b.receive(1, 0, 64)
                b.mr.reregister(AccessFlag.LOCAL_WRITE)
                fabric.misuses().shouldBeSingleton { it.kind shouldBe REGION_CLOSED }
                a.post { send(2).from(a.mr.slice(0, 8)).signaled() }
                a.mr.close()
                fabric.misuses().last().run { kind to buffer.opcode() } shouldBe (REGION_CLOSED to SEND)
            }
        }

        test("should check posted memory when its queue pair is destroyed, and restore it") {
            diagnosed { (a, b) ->
                b.fill(4)
                val before = b.bytes(0, 128)
                b.receive(1, 0, 64)
                b.receive(2, 64, 64)
                a.post { write(3, b.mr.remote().at(512)).from(a.mr.slice(0, 8)).signaled() }
                a.put(0, 1)
                a.qp.close()
                b.qp.close()
                b.bytes(0, 128) shouldBe before
                fabric.misuses().single().run { kind to buffer.workRequestId() } shouldBe (SOURCE_CHANGED to 3L)
            }
        }

        test(
            "should name the queue pair that took a receive of a shared queue, and give back untaken receives when " +
                "that is closed",
        ) {
            diagnosed { (a, b) ->
                val pd = b.mr.protectionDomain()
                val srq = pd.sharedReceiveQueue(SharedReceiveQueueAttributes.of(4, 1))
                val qp = pd.queuePair(QueuePairInitAttributes.of(RC, b.cq).with(srq))
                a.qp.modify(QueuePairAttributes.builder().state(QueuePairState.RESET).build())
                a.qp.connect(qp.endpoint())
                qp.connect(a.qp.endpoint())
                repeat(3) { srq.postReceive(it.toLong(), b.mr.slice(it * 8L, 8)) }
                srq.resize(8)
                b.put(0, 1)
                b.put(16, 1)
                a.fill(1)
                repeat(2) { a.post { send(1).from(a.mr.slice(0, 8)).signaled() } }
                b.take(2)
                b.bytes(0, 16) shouldBe a.bytes(0, 8) + a.bytes(0, 8)
                qp.close()
                srq.close()
                b.bytes(16, 8) shouldBe ByteArray(8)
                fabric.misuses().map { Triple(it.kind, it.buffer.workRequestId(), it.buffer.queuePair()) } shouldBe
                    listOf(Triple(DESTINATION_WRITTEN, 0L, qp.number()), Triple(DESTINATION_WRITTEN, 2L, 0))
            }
        }

        test("should give flushed receives back as they were when they are polled") {
            diagnosed { (_, b) ->
                b.fill(4)
                val before = b.bytes(0, 64)
                b.receive(1, 0, 64)
                b.qp.modify(QueuePairAttributes.builder().state(QueuePairState.ERR).build())
                b.bytes(0, 1).single() shouldBe BufferMisuse.POISON
                b.take(1)
                b.bytes(0, 64) shouldBe before
                fabric.misuses().shouldBeEmpty()
            }
        }

        test("should find the same mistakes over a line that loses and repeats packets") {
            val patient = ConnectOptions.builder().timeout(10).build()
            diagnosed(patient) { (a, b) ->
                fabric.setFaults(Faults.BAD_LINE)
                a.fill(1)
                b.receive(1, 0, 20_000)
                a.post { send(1).from(a.mr.slice(0, 20_000)).signaled() }
                b.take(1)
                b.bytes(0, 20_000) shouldBe a.bytes(0, 20_000)
                a.put(0, 1)
                a.take(1)
                fabric.misuses().single().kind shouldBe SOURCE_CHANGED
            }
        }

        test("should show the place of the post while org.kverbs.Diagnostics are on, and tell the cure") {
            Diagnostics.enable()
            try {
                diagnosed { (a, b) ->
                    a.post { write(5, b.mr.remote()).from(a.mr.slice(0, 32)).signaled() }
                    a.put(0, 1)
                    a.take(1)
                    val misuse = fabric.misuses().single()
                    val place = misuse.buffer.postedAt().shouldNotBeNull()
                    place.stackTraceToString() shouldContain "DiagnosticsSpec.kt"
                    misuse.toString() shouldContain
                        "32 bytes at 0x${a.mr.address().toString(16)} of RDMA_WRITE with wr_id 5 on queue pair"
                    misuse.toString() shouldContain "change a source only after its completion is polled"
                }
            } finally {
                Diagnostics.disable()
            }
        }

        for (thrown in listOf(
            IllegalStateException("not my problem"),
            AssertionError("a test's own"),
            StackOverflowError(),
        )) {
            test("should tell a listener that throws ${thrown.javaClass.simpleName}, and be turned on once") {
                val told = mutableListOf<BufferMisuse>()
                val fabric = EmbeddedFabric.virtual(1)
                fabric.diagnose {
                    told += it
                    throw thrown
                }
                shouldThrow<IllegalStateException> { fabric.diagnose() }.message shouldContain "once"
                Pair(fabric).use { (a, b) ->
                    a.post { write(5, b.mr.remote()).from(a.mr.slice(0, 32)).signaled() }
                    a.put(0, 1)
                    a.take(1).single().isSuccess shouldBe true
                    told shouldBe fabric.misuses()
                    told.size shouldBe 1
                }
            }
        }

        test("should find no mistake while it is off") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                a.post { write(5, b.mr.remote()).from(a.mr.slice(0, 32)).signaled() }
                a.put(0, 1)
                a.take(1)
                pair.fabric.misuses().shouldBeEmpty()
            }
        }
    })

private const val BYTES = 1L shl 19

private fun diagnosed(
    options: ConnectOptions = ConnectOptions.DEFAULTS,
    type: QueuePairType = RC,
    semantics: Semantics = STRICT,
    block: Pair.(Pair) -> Unit,
) {
    val fabric = EmbeddedFabric.virtual(1)
    fabric.diagnose { }
    Pair(fabric, type, options, BYTES, semantics).use { it.block(it) }
}

private fun End.put(
    offset: Long,
    value: Int,
) = mr.memory().set(JAVA_BYTE, offset, value.toByte())

private fun End.receive(
    id: Long,
    offset: Long,
    bytes: Long,
) = qp.postReceive(id, mr.slice(offset, bytes))
