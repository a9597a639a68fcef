package org.kverbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.property.Arb
import io.kotest.property.arbitrary.bind
import io.kotest.property.arbitrary.byte
import io.kotest.property.arbitrary.byteArray
import io.kotest.property.arbitrary.enum
import io.kotest.property.arbitrary.int
import io.kotest.property.arbitrary.list
import io.kotest.property.arbitrary.long
import io.kotest.property.checkAll
import org.kverbs.NullVerbs.onNullDevice
import org.kverbs.attributes.MemoryWindowType
import org.kverbs.internal.abi.IbvSendWr
import org.kverbs.internal.memory.Memory
import java.lang.foreign.Arena
import java.lang.foreign.ValueLayout.JAVA_BYTE

/**
 * Tests the fields that each operation writes; [org.kverbs.internal.abi.AbiSpec] shows that the offsets are the
 * compiler's.
 */
class SendRequestsSpec :
    FunSpec({
        onNullDevice()

        Operation.entries.forEach { operation ->
            test("should write $operation as the C structure has it") {
                val requests = SendRequests() // reused: what an earlier operation left must not show
                checkAll(60, values, Arb.enum<Operation>()) { value, before ->
                    requests.clear()
                    before.begin(requests, value.copy(id = 99, first = 77, second = 88))
                    requests.clear()
                    operation.begin(requests, value)

                    val found = requests.follow().single()
                    found.id shouldBe value.id
                    found.int(IbvSendWr.OPCODE) shouldBe operation.opcode
                    found.int(IbvSendWr.SEND_FLAGS) shouldBe 0
                    found.entries shouldBe emptyList()
                    operation.fields(value).forEach { (offset, expected) ->
                        withClue("offset $offset") {
                            when (expected) {
                                is Int -> found.int(offset) shouldBe expected
                                else -> found.long(offset) shouldBe expected
                            }
                        }
                    }
                }
            }
        }

        test("should follow one after the other with their entries and flags, however long the list gets") {
            val request = Arb.bind(values, Arb.enum<Operation>(), Arb.list(entries, 0..5), Arb.int(0..15), ::Planned)
            val reused = SendRequests()
            checkAll(150, Arb.list(request, 0..120)) { planned ->
                listOf(SendRequests(), reused.also { it.clear() }).forEach { requests ->
                    planned.forEachIndexed { i, it ->
                        it.write(requests)
                        // As a post does, after which the list can go on.
                        if (i % 7 == 3) requests.follow().size shouldBe i + 1
                    }
                    requests.size() shouldBe planned.size
                    requests.follow().map { it.id } shouldContainExactly planned.map { it.value.id }
                    requests.follow().map { it.entries } shouldContainExactly planned.map { it.entries }
                    requests.follow().map { it.int(IbvSendWr.SEND_FLAGS) } shouldContainExactly planned.map { it.flags }
                    requests.follow().map { it.int(IbvSendWr.OPCODE) } shouldContainExactly
                        planned.map { it.operation.opcode }
                }
            }
        }

        test("should say what each request of a list completes as") {
            val requests = SendRequests()
            Operation.entries.forEach { it.begin(requests, Values(1, 2, 3, 4, 5)) }
            Operation.entries.forEachIndexed { index, operation ->
                withClue(operation) {
                    requests.completionOpcode(index) shouldBe completions.getValue(operation.opcode)
                }
            }
            shouldThrow<IndexOutOfBoundsException> { requests.completionOpcode(requests.size()) }.message shouldBe
                "request ${requests.size()} is not in the list, which has ${requests.size()}, numbered from 0"
        }

        test("should leave a request as it was if inline bytes cannot be copied") {
            val gone = Arena.ofConfined().use { it.allocate(8) }
            val requests = SendRequests().send(1)
            shouldThrow<IllegalStateException> { requests.inline(gone) }
            val found = requests.follow().single()
            found.int(IbvSendWr.SEND_FLAGS) shouldBe 0
            found.entries shouldBe emptyList()
        }

        test("should copy inline bytes, and gather them in order") {
            checkAll(100, Arb.list(Arb.byteArray(Arb.int(0..300), Arb.byte()), 1..12)) { pieces ->
                val requests = SendRequests().send(1)
                pieces.forEach { piece ->
                    val source = piece.copyOf()
                    requests.inline(source)
                    source.fill(0)
                }
                val found = requests.follow().single()
                found.int(IbvSendWr.SEND_FLAGS) shouldBe 8 // IBV_SEND_INLINE
                found.entries.map { Memory.at(it.address, it.length.toLong()).toArray(JAVA_BYTE).toList() } shouldBe
                    pieces.map { it.toList() }
            }
        }

        test("should take slices of regions and addresses of datagrams as they are") {
            NullBench().use { bench ->
                val slice = bench.mr.slice(8, 100)
                val address = bench.addressHandle()
                val found =
                    SendRequests()
                        .send(
                            1,
                        ).from(slice)
                        .into(bench.mr.slice())
                        .to(address, 0x123456, 0x11223344)
                        .follow()
                        .single()
                found.entries shouldBe
                    listOf(
                        Entry(bench.mr.address() + 8, 100, bench.mr.lkey()),
                        Entry(bench.mr.address(), 4096, bench.mr.lkey()),
                    )
                found.long(40) shouldBe address.handle()
                found.int(48) shouldBe 0x123456
                found.int(52) shouldBe 0x11223344
            }
        }

        test("should write the bind of a window, and keep its key once it is posted") {
            NullBench().use { bench ->
                val window = bench.pd.memoryWindow(MemoryWindowType.TYPE_2)
                val requests = SendRequests().bind(5, window, 0x4711, bench.mr.slice(16, 32), 0x1f)
                val found = requests.follow().single()
                found.int(IbvSendWr.OPCODE) shouldBe 8
                found.long(80) shouldBe window.handle()
                found.int(88) shouldBe 0x4711
                found.long(96) shouldBe bench.mr.handle()
                found.long(104) shouldBe bench.mr.address() + 16
                found.long(112) shouldBe 32
                found.int(120) shouldBe 0x1f
                bench.queuePair().post(requests)
                window.rkey() shouldBe 0x4711
            }
        }

        test("should refuse an entry or a flag before any operation") {
            val requests = SendRequests()
            listOf<() -> Unit>(
                { requests.entry(1, 2, 3) },
                { requests.signaled() },
                { requests.inline(ByteArray(1)) },
            ).forEach {
                shouldThrow<IllegalStateException>(it).message shouldContain "no request was begun"
            }
            requests.send(1).clear()
            shouldThrow<IllegalStateException> { requests.fence() }
        }

        test("should post what it holds, name the refused one, and count what a full queue took") {
            NullBench().use { bench ->
                val qp = bench.queuePair()
                val requests = SendRequests()
                repeat(40) { requests.send(it.toLong()) }
                NullVerbs.set(NullVerbs.Option.REFUSE_AT, 33)
                NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, 22)
                val refusal = shouldThrow<WorkRequestException> { qp.post(requests) }
                listOf(refusal.index(), refusal.count(), refusal.errno()) shouldBe listOf(33, 40, 22)
                NullVerbs.set(NullVerbs.Option.REFUSE_ERRNO, 12)
                qp.tryPost(requests) shouldBe 33
                shouldThrow<WorkRequestException> { qp.post(requests) }.errno() shouldBe 12
                NullVerbs.set(NullVerbs.Option.REFUSE_AT, -1)
                qp.tryPost(requests) shouldBe 40
            }
        }

        test("should name the first request where the driver names none") {
            SendRequests().send(1).send(2).requests.run {
                indexOf(0) shouldBe 0
                indexOf(first() + IbvSendWr.SIZE) shouldBe 1
                indexOf(first() + 2 * IbvSendWr.SIZE) shouldBe 0
            }
        }
    })

/** The completion opcode of each operation, by its number in `enum ibv_wr_opcode`. */
private val completions =
    mapOf(
        0 to WorkCompletionOpcode.RDMA_WRITE,
        1 to WorkCompletionOpcode.RDMA_WRITE,
        2 to WorkCompletionOpcode.SEND,
        3 to WorkCompletionOpcode.SEND,
        4 to WorkCompletionOpcode.RDMA_READ,
        5 to WorkCompletionOpcode.COMP_SWAP,
        6 to WorkCompletionOpcode.FETCH_ADD,
        7 to WorkCompletionOpcode.LOCAL_INV,
        9 to WorkCompletionOpcode.SEND,
    )

private data class Values(
    val id: Long,
    val first: Long,
    val key: Int,
    val second: Long,
    val third: Long,
)

private val values = Arb.bind(Arb.long(), Arb.long(), Arb.int(), Arb.long(), Arb.long(), ::Values)
private val entries = Arb.bind(Arb.long(), Arb.int(), Arb.int(), ::Entry)

/** @property flags of signaled, solicited, fence: their bits in `enum ibv_send_flags` */
private class Planned(
    val value: Values,
    val operation: Operation,
    val entries: List<Entry>,
    chosen: Int,
) {
    val flags = chosen and (FENCE or SIGNALED or SOLICITED)

    fun write(requests: SendRequests) {
        operation.begin(requests, value)
        entries.forEach { requests.entry(it.address, it.length, it.lkey) }
        if (flags and FENCE != 0) requests.fence()
        if (flags and SIGNALED != 0) requests.signaled()
        if (flags and SOLICITED != 0) requests.solicited()
    }

    private companion object {
        const val FENCE = 1
        const val SIGNALED = 2
        const val SOLICITED = 4
    }
}

/** Bytes as they go over the wire, read as a number of this machine. */
private fun wire(immediate: Int): Int = Integer.reverseBytes(immediate)

/**
 * Each operation with the number of its `enum ibv_wr_opcode`, how it is begun, and which values stand at which offsets
 * then: numbers from `struct ibv_send_wr` on x86_64, not the constants that the encoder uses.
 */
private enum class Operation(
    val opcode: Int,
    val begin: SendRequests.(Values) -> Unit,
    val fields: (Values) -> Map<Int, Any>,
) {
    SEND(2, { send(it.id) }, { emptyMap() }),
    SEND_WITH_IMMEDIATE(3, { sendWithImmediate(it.id, it.key) }, { mapOf(36 to wire(it.key)) }),
    SEND_WITH_INVALIDATE(9, { sendWithInvalidate(it.id, it.key) }, { mapOf(36 to it.key) }),
    WRITE(0, { write(it.id, it.first, it.key) }, { mapOf(40 to it.first, 48 to it.key) }),
    WRITE_TO(0, { write(it.id, RemoteMemory(it.first, 1, it.key)) }, { mapOf(40 to it.first, 48 to it.key) }),
    WRITE_WITH_IMMEDIATE(
        1,
        { writeWithImmediate(it.id, it.first, it.key, it.second.toInt()) },
        { mapOf(36 to wire(it.second.toInt()), 40 to it.first, 48 to it.key) },
    ),
    WRITE_WITH_IMMEDIATE_TO(
        1,
        { writeWithImmediate(it.id, RemoteMemory(it.first, 1, it.key), it.second.toInt()) },
        { mapOf(36 to wire(it.second.toInt()), 40 to it.first, 48 to it.key) },
    ),
    READ(4, { read(it.id, it.first, it.key) }, { mapOf(40 to it.first, 48 to it.key) }),
    READ_FROM(4, { read(it.id, RemoteMemory(it.first, 1, it.key)) }, { mapOf(40 to it.first, 48 to it.key) }),
    COMPARE_AND_SWAP(
        5,
        { compareAndSwap(it.id, it.first, it.key, it.second, it.third) },
        { mapOf(40 to it.first, 48 to it.second, 56 to it.third, 64 to it.key) },
    ),
    COMPARE_AND_SWAP_ON(
        5,
        { compareAndSwap(it.id, RemoteMemory(it.first, 8, it.key), it.second, it.third) },
        { mapOf(40 to it.first, 48 to it.second, 56 to it.third, 64 to it.key) },
    ),
    FETCH_AND_ADD(
        6,
        { fetchAndAdd(it.id, it.first, it.key, it.second) },
        { mapOf(40 to it.first, 48 to it.second, 64 to it.key) },
    ),
    FETCH_AND_ADD_ON(
        6,
        { fetchAndAdd(it.id, RemoteMemory(it.first, 8, it.key), it.second) },
        { mapOf(40 to it.first, 48 to it.second, 64 to it.key) },
    ),
    LOCAL_INVALIDATE(7, { localInvalidate(it.id, it.key) }, { mapOf(36 to it.key) }),
}
