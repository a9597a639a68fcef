package org.kverbs.acceptance.lab

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.RemoteMemory
import org.kverbs.WorkCompletionOpcode.RECV
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.WorkCompletionStatus.RNR_RETRY_EXC_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.acceptance.contract.await
import org.kverbs.acceptance.lab.Operation.COMPARE_AND_SWAP
import org.kverbs.acceptance.lab.Operation.FETCH_AND_ADD
import org.kverbs.acceptance.lab.Operation.READ
import org.kverbs.acceptance.lab.Operation.SEND
import org.kverbs.acceptance.lab.Operation.SEND_WITH_IMMEDIATE
import org.kverbs.acceptance.lab.Operation.SEND_WITH_INVALIDATE
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Operation.WRITE_WITH_IMMEDIATE
import org.kverbs.attributes.MemoryWindowType.TYPE_1
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.QueuePairType
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD

private const val GRH = 40
private const val INLINE = 64

/** Sizes around the path MTU and beyond. */
private val sizes = listOf(0, 1, 4096, 4097, 50_000)
private val messages = listOf(SEND, SEND_WITH_IMMEDIATE)
private val writes = listOf(WRITE, WRITE_WITH_IMMEDIATE)

/** Two connected ends, of which one is Pyverbs: connects them and runs a block. */
internal typealias PyverbsLink = (
    fromPyverbs: Boolean,
    type: QueuePairType,
    making: Making,
    patience: Patience,
    block: Linked.() -> Unit,
) -> Unit

/**
 * Declares a test for each operation that Pyverbs and kverbs have on Soft-RoCE, in both directions, with plain and with
 * extended calls on both sides.
 *
 * @param end what the end of kverbs is, as a part of the tests' names
 */
internal fun FunSpec.operationsWithPyverbs(
    end: String,
    link: PyverbsLink,
) {
    for (fromPyverbs in listOf(false, true)) {
        val direction = if (fromPyverbs) "from Pyverbs to $end" else "from $end to Pyverbs"

        fun linked(
            type: QueuePairType,
            making: Making = Making(),
            patience: Patience = Patience(),
            block: Linked.() -> Unit,
        ) = link(fromPyverbs, type, making, patience, block)

        for (extended in listOf(false, true)) {
            val calls = if (extended) "extended calls" else "plain calls"
            val making = Making(extended = extended)
            for (type in listOf(RC, UC)) {
                test("should carry sends and writes, with and without immediate data, on $type by $calls $direction") {
                    linked(type, making) {
                        for (size in sizes) (messages + writes).forEach { carry(it, size) }
                    }
                }
            }
            test("should carry datagrams, with and without immediate data, on UD by $calls $direction") {
                linked(UD, making) {
                    for (size in listOf(0, 1, 1023, 4096)) messages.forEach { carryDatagram(it, size) }
                }
            }
            test("should read on RC by $calls $direction") {
                linked(RC, making) { sizes.forEach { read(it) } }
            }
            test("should compare and swap, and fetch and add, on RC by $calls $direction") {
                linked(RC, making) { changeAtomically() }
            }
            test("should carry bytes that are inline on RC, UC and UD by $calls $direction") {
                for (type in listOf(RC, UC, UD)) linked(type, making) { carryInline() }
            }
            test("should end the key of a window by a send with invalidate on RC by $calls $direction") {
                linked(RC, making) { invalidateWindow() }
            }
        }

        for (type in listOf(RC, UC)) {
            test("should gather from three places and scatter to three others on $type $direction") {
                linked(type) { gatherAndScatter() }
            }
        }
        test("should write through a window of type 1 on RC $direction") {
            linked(RC) {
                from.fill(Piece(0, 5000), seed = 5)
                from.post(listOf(Request(1, WRITE, listOf(Piece(0, 5000)), to.bindWindow(Piece(TARGET, 5000), TYPE_1))))
                from.take(1).single().shouldBe(1, WRITE)
                to.mismatch(Piece(TARGET, 5000), seed = 5) shouldBe -1
            }
        }
        test("should fence a send behind a read on RC $direction") {
            linked(RC) {
                to.fill(Piece(TARGET, 9000), seed = 4)
                to.receive(7, listOf(Piece(TARGET + 20_000, 9000)))
                val bytes = listOf(Piece(0, 9000))
                from.post(listOf(Request(1, READ, bytes, at(0)), Request(2, SEND, bytes, fenced = true)))
                from.take(2).forEachIndexed { i, done -> done.shouldBe(i + 1L, listOf(READ, SEND)[i]) }
                to.take(1).single().bytes shouldBe 9000
                to.mismatch(Piece(TARGET + 20_000, 9000), seed = 4) shouldBe -1
            }
        }
        for (type in listOf(RC, UD)) {
            test("should receive by a shared receive queue on $type $direction") {
                linked(type, Making(shared = true)) {
                    if (type == UD) messages.forEach { carryDatagram(it, 1000) }
                    if (type == RC) for (size in sizes) (messages + WRITE_WITH_IMMEDIATE).forEach { carry(it, size) }
                }
            }
        }
        for (type in listOf(RC, UD)) {
            test("should wait for events of a completion channel on $type $direction") {
                linked(type, Making(events = true)) {
                    repeat(5) {
                        if (type == UD) messages.forEach { carryDatagram(it, 1000) }
                        if (type == RC) (messages + writes).forEach { carry(it, 5000) }
                    }
                }
            }
        }
        test("should wait for a peer that has no receive yet on RC $direction") {
            linked(RC) {
                from.fill(Piece(0, 9000), seed = 8)
                from.post(listOf(Request(1, SEND, listOf(Piece(0, 9000)))))
                from.isIdle() shouldBe true
                to.receive(7, listOf(Piece(TARGET, 9000)))
                from.take(1).single().shouldBe(1, SEND)
                to.take(1).single().bytes shouldBe 9000
                to.mismatch(Piece(TARGET, 9000), seed = 8) shouldBe -1
            }
        }
        test("should give up on a peer that never has a receive with RNR_RETRY_EXC_ERR on RC $direction") {
            linked(RC, patience = Patience(rnrRetries = 2)) {
                from.post(listOf(Request(1, SEND, listOf(Piece(0, 8)))))
                from.take(1).single().status shouldBe RNR_RETRY_EXC_ERR
            }
        }
        for (operation in listOf(WRITE, READ, COMPARE_AND_SWAP)) {
            test("should fail $operation with a wrong key by REM_ACCESS_ERR on RC $direction") {
                linked(RC) {
                    val whole = RemoteMemory.parse(at(0))
                    val wrong = RemoteMemory(whole.address(), whole.length(), whole.rkey() xor 0x5500).toText()
                    from.post(listOf(Request(1, operation, listOf(Piece(0, 8)), wrong)))
                    from.take(1).single().status shouldBe REM_ACCESS_ERR
                }
            }
        }
    }
}

private fun Linked.carryDatagram(
    operation: Operation,
    size: Int,
) = withClue("$operation of $size bytes") {
    val immediate = if (operation == SEND_WITH_IMMEDIATE) -size else null
    from.fill(Piece(0, size), seed = size)
    to.fill(Piece(TARGET, GRH + size), seed = size + 1)
    to.receive(TARGET, listOf(Piece(TARGET, GRH + size)))
    from.post(listOf(Request(1, operation, listOf(Piece(0, size)).filter { size > 0 }, word = -size)))
    from.take(1).single().shouldBe(1, operation)
    to.take(1).single().copy(sender = null) shouldBe
        Done(TARGET, SUCCESS, RECV, GRH + size.toLong(), immediate, fromNumber, null)
    to.mismatch(Piece(TARGET + GRH, size), seed = size) shouldBe -1
}

private fun Linked.changeAtomically() {
    to.putLong(TARGET + 8, 42)
    val into = listOf(Piece(0, 8))
    listOf(
        Request(1, COMPARE_AND_SWAP, into, at(8), number = 42, swap = -5) to (42L to -5L),
        Request(2, COMPARE_AND_SWAP, into, at(8), number = 42, swap = 77) to (-5L to -5L),
        Request(3, FETCH_AND_ADD, into, at(8), number = 0x1234_5678_9abc_def0) to (-5L to 0x1234_5678_9abc_deeb),
    ).forEach { (request, values) ->
        from.post(listOf(request))
        from.take(1).single().shouldBe(request.id, request.operation)
        from.long(0) to to.long(TARGET + 8) shouldBe values
    }
    to.putLong(TARGET, 0)
    from.post((1L..16).map { Request(it, FETCH_AND_ADD, listOf(Piece(it * 8, 8)), at(0), number = it) })
    from.take(16).forEachIndexed { i, done -> done.shouldBe(i + 1L, FETCH_AND_ADD) }
    (1L..16).map { from.long(it * 8) } shouldBe (1L..16).map { it * (it - 1) / 2 }
}

/** The sender overwrites its bytes at once: the request has carried them. */
private fun Linked.carryInline() {
    val before = if (sendsDatagrams) GRH else 0
    val source = Piece(0, INLINE)
    from.fill(source, seed = 9)
    to.receive(TARGET, listOf(Piece(TARGET, before + INLINE)))
    from.post(listOf(Request(1, SEND, listOf(source), inline = true)))
    from.fill(source, seed = 10)
    from.take(1).single().shouldBe(1, SEND)
    to.take(1).single().bytes shouldBe before + INLINE
    to.mismatch(Piece(TARGET + before, INLINE), seed = 9) shouldBe -1
    if (!sendsDatagrams) {
        from.post(listOf(Request(2, WRITE, listOf(source), at(1000), inline = true)))
        from.fill(source, seed = 11)
        from.take(1).single().shouldBe(2, WRITE)
        // On UC a completed write has only been sent.
        await("the bytes of the write") { to.mismatch(Piece(TARGET + 1000, INLINE), seed = 10) < 0 }
    }
}

private fun Linked.invalidateWindow() {
    val window = to.bindWindow(Piece(TARGET, 5000), TYPE_2)
    from.fill(Piece(0, 5000), seed = 5)
    from.post(listOf(Request(1, WRITE, listOf(Piece(0, 5000)), window)))
    from.take(1).single().shouldBe(1, WRITE)
    to.mismatch(Piece(TARGET, 5000), seed = 5) shouldBe -1
    from.post(listOf(Request(2, READ, listOf(Piece(10_000, 5000)), window)))
    from.take(1).single().shouldBe(2, READ)
    from.mismatch(Piece(10_000, 5000), seed = 5) shouldBe -1
    to.receive(7, listOf(Piece(TARGET + 20_000, 900)))
    val key = RemoteMemory.parse(window).rkey()
    from.post(listOf(Request(3, SEND_WITH_INVALIDATE, listOf(Piece(0, 900)), word = key)))
    from.take(1).single().shouldBe(3, SEND_WITH_INVALIDATE)
    to.take(1).single().bytes shouldBe 900
    to.mismatch(Piece(TARGET + 20_000, 900), seed = 5) shouldBe -1
    from.post(listOf(Request(4, WRITE, listOf(Piece(0, 8)), window)))
    from.take(1).single().status shouldBe REM_ACCESS_ERR
}

private fun Linked.gatherAndScatter() {
    val pieces = listOf(Piece(1, 3000), Piece(5000, 4097), Piece(100_001, 7))
    val targets = listOf(Piece(TARGET + 3, 5), Piece(TARGET + 10_000, 7000), Piece(TARGET + 50_000, 99))
    pieces.forEachIndexed { i, piece -> from.fill(piece, seed = 10 + i) }
    to.receive(7, targets)
    from.post(listOf(Request(1, SEND, pieces)))
    from.take(1).single().shouldBe(1, SEND)
    to.take(1).single().bytes shouldBe pieces.sumOf { it.length }
    from.post(listOf(Request(2, WRITE, pieces, at(200_000))))
    from.take(1).single().shouldBe(2, WRITE)
    await("the bytes of the write") { to.mismatch(Piece(TARGET + 200_000 + 7097, 7), seed = 12) < 0 }
    to.mismatch(Piece(TARGET + 200_000, 3000), seed = 10) shouldBe -1
    to.mismatch(Piece(TARGET + 203_000, 4097), seed = 11) shouldBe -1
    val sent = pieces.flatMap { from.read(it).asList() }
    targets.flatMap { to.read(it).asList() } shouldBe sent
}
