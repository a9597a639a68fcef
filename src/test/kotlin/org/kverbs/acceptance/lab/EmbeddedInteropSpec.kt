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
import org.kverbs.attributes.MemoryWindowType.TYPE_2
import org.kverbs.attributes.QueuePairType.RC
import org.kverbs.attributes.QueuePairType.UC
import org.kverbs.attributes.QueuePairType.UD

private const val GRH = 40

/** All hosts (RFC 1112): the only group that Linux has joined; joining a group is not Soft-RoCE's task. */
private const val GROUP = "224.0.0.1"

/**
 * Checks every operation between the embedded device over UDP and Soft-RoCE, in both directions, and the bytes at their
 * destination.
 */
internal class EmbeddedInteropSpec :
    FunSpec({
        for (direction in Direction.entries) {
            for (type in listOf(RC, UC)) {
                test("should carry sends and writes on $type $direction, with and without immediate data") {
                    BothSides.linked(direction, type) {
                        val operations = listOf(SEND, SEND_WITH_IMMEDIATE, WRITE, WRITE_WITH_IMMEDIATE)
                        for (size in sizes(type)) {
                            operations.forEach { carry(it, size) }
                        }
                    }
                }

                test("should gather from three places and scatter to three others on $type $direction") {
                    BothSides.linked(direction, type) {
                        val pieces = listOf(Piece(1, 3000), Piece(5000, 4097), Piece(100_001, 7))
                        val targets =
                            listOf(Piece(TARGET + 3, 5), Piece(TARGET + 10_000, 7000), Piece(TARGET + 50_000, 99))
                        pieces.forEachIndexed { i, piece -> from.fill(piece, seed = 10 + i) }
                        to.receive(7, targets)
                        from.post(listOf(Request(1, SEND, pieces)))
                        from.take(1).single().shouldBe(1, SEND)
                        to.take(1).single().bytes shouldBe pieces.sumOf { it.length }
                        // The write gathers three pieces at the source and stores one at the destination.
                        from.post(listOf(Request(2, WRITE, pieces, at(200_000))))
                        from.take(1).single().shouldBe(2, WRITE)
                        await(
                            "the bytes of the write",
                        ) { to.mismatch(Piece(TARGET + 200_000 + 7097, 7), seed = 12) < 0 }
                        to.mismatch(Piece(TARGET + 200_000, 3000), seed = 10) shouldBe -1
                        to.mismatch(Piece(TARGET + 203_000, 4097), seed = 11) shouldBe -1
                        val sent = to.read(Piece(TARGET + 200_000, 7104))
                        val came = targets.fold(ByteArray(0)) { all, it -> all + to.read(Piece(it.offset, it.length)) }
                        withClue("what was scattered") { came.take(7104) shouldBe sent.toList() }
                    }
                }
            }

            test("should read on RC $direction") {
                BothSides.linked(direction, RC) { sizes(RC).forEach { read(it) } }
            }

            test("should read into three places, and fence a send behind it, on RC $direction") {
                BothSides.linked(direction, RC) {
                    to.fill(Piece(TARGET, 9000), seed = 4)
                    val pieces = listOf(Piece(0, 4000), Piece(10_000, 4999), Piece(20_000, 1))
                    to.receive(7, listOf(Piece(TARGET + 20_000, 4000)))
                    from.post(
                        listOf(
                            Request(1, READ, pieces, at(0)),
                            Request(2, SEND, listOf(Piece(0, 4000)), fenced = true),
                        ),
                    )
                    val (read, sent) = from.take(2)
                    read.shouldBe(1, READ)
                    sent.shouldBe(2, SEND)
                    to.take(1).single().status shouldBe SUCCESS
                    to.read(Piece(TARGET + 20_000, 4000)).toList() shouldBe to.read(Piece(TARGET, 4000)).toList()
                    pieces.flatMap { from.read(Piece(it.offset, it.length)).asList() } shouldBe
                        to.read(Piece(TARGET, 9000)).toList()
                }
            }

            test("should compare and swap, and fetch and add, on RC $direction") {
                BothSides.linked(direction, RC) {
                    to.putLong(TARGET + 8, 42)
                    val into = listOf(Piece(0, 8))
                    listOf(
                        Request(1, COMPARE_AND_SWAP, into, at(8), number = 42, swap = -5) to (42L to -5L),
                        Request(2, COMPARE_AND_SWAP, into, at(8), number = 42, swap = 77) to (-5L to -5L),
                        Request(3, FETCH_AND_ADD, into, at(8), number = 0x1234_5678_9abc_def0) to
                            (-5L to 0x1234_5678_9abc_deeb),
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
            }

            test("should end a window's key by a send with invalidate on RC $direction") {
                BothSides.linked(direction, RC) {
                    val window = to.bindWindow(Piece(TARGET, 10_000), TYPE_2)
                    from.fill(Piece(0, 10_000), seed = 5)
                    from.post(listOf(Request(1, WRITE, listOf(Piece(0, 10_000)), window)))
                    from.take(1).single().shouldBe(1, WRITE)
                    to.mismatch(Piece(TARGET, 10_000), seed = 5) shouldBe -1
                    to.receive(7, listOf(Piece(TARGET + 20_000, 9000)))
                    val key = RemoteMemory.parse(window).rkey()
                    from.post(listOf(Request(2, SEND_WITH_INVALIDATE, listOf(Piece(0, 9000)), word = key)))
                    from.take(1).single().shouldBe(2, SEND_WITH_INVALIDATE)
                    to.take(1).single().bytes shouldBe 9000
                    from.post(listOf(Request(3, WRITE, listOf(Piece(0, 8)), window)))
                    from.take(1).single().status shouldBe REM_ACCESS_ERR
                }
            }

            test("should carry datagrams on UD $direction, and name the sender in the routing header") {
                BothSides.linked(direction, UD) {
                    for (size in listOf(0, 1, 1023, 4096)) {
                        from.fill(Piece(0, size), seed = size)
                        to.receive(TARGET, listOf(Piece(TARGET, GRH + size)))
                        from.post(
                            listOf(
                                Request(
                                    1,
                                    SEND_WITH_IMMEDIATE,
                                    listOf(Piece(0, size)).filter { size > 0 },
                                    word = -size,
                                ),
                            ),
                        )
                        from.take(1).single().shouldBe(1, SEND)
                        val received = to.take(1).single()
                        received shouldBe
                            Done(TARGET, SUCCESS, RECV, GRH + size.toLong(), -size, fromNumber, "::ffff:$fromAddress")
                        to.mismatch(Piece(TARGET + GRH, size), seed = size) shouldBe -1
                    }
                }
            }

            test("should carry a datagram to a multicast group $direction") {
                BothSides.linked(direction, UD) {
                    to.join(GROUP)
                    from.join(GROUP)
                    from.fill(Piece(0, 700), seed = 6)
                    to.receive(TARGET, listOf(Piece(TARGET, 1000)))
                    from.post(listOf(Request(1, SEND, listOf(Piece(0, 700)))))
                    from.take(1).single().shouldBe(1, SEND)
                    to.take(1).single().bytes shouldBe GRH + 700
                    to.mismatch(Piece(TARGET + GRH, 700), seed = 6) shouldBe -1
                }
            }

            for (operation in listOf(WRITE, READ, COMPARE_AND_SWAP)) {
                test("should fail $operation with a wrong key by REM_ACCESS_ERR on RC $direction") {
                    BothSides.linked(direction, RC) {
                        val whole = RemoteMemory.parse(at(0))
                        val wrong = RemoteMemory(whole.address(), whole.length(), whole.rkey() xor 0x5500).toText()
                        from.post(listOf(Request(1, operation, listOf(Piece(0, 8)), wrong)))
                        from.take(1).single().status shouldBe REM_ACCESS_ERR
                    }
                }
            }

            test("should wait for a peer that has no receive yet on RC $direction") {
                BothSides.linked(direction, RC) {
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
                BothSides.linked(direction, RC, Patience(rnrRetries = 2)) {
                    from.post(listOf(Request(1, SEND, listOf(Piece(0, 8)))))
                    from.take(1).single().status shouldBe RNR_RETRY_EXC_ERR
                }
            }
        }
    })
