package org.kverbs.acceptance.newer

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.acceptance.lab.BothSides
import org.kverbs.acceptance.lab.Direction
import org.kverbs.acceptance.lab.Making
import org.kverbs.acceptance.lab.Operation.ATOMIC_WRITE
import org.kverbs.acceptance.lab.Operation.FLUSH
import org.kverbs.acceptance.lab.Operation.READ
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.acceptance.lab.Piece
import org.kverbs.acceptance.lab.Request
import org.kverbs.acceptance.lab.TARGET
import org.kverbs.acceptance.lab.shouldBe
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType.RC

private const val ROUNDS = 20
private val PLACING = Making(listOf(Feature.ATOMIC_WRITE, Feature.FLUSH))

/**
 * Checks atomic writes and flushes between the embedded device over UDP and Soft-RoCE, in both directions. Soft-RoCE of
 * Linux 6.12 with rdma-core 56 has both, and its flushes have an ICRC of their own. No packet is lost here: it does not
 * answer a repeated flush, and repeats its own with address 0.
 */
internal class EmbeddedPlacementSpec :
    FunSpec({
        for (direction in Direction.entries) {
            test("should write 8 bytes at once, $direction") {
                BothSides.linked(direction, RC, making = PLACING) {
                    to.putLong(TARGET, -1)
                    to.putLong(TARGET + 16, -1)
                    from.post(listOf(Request(1, ATOMIC_WRITE, remote = at(8), number = 0x1122334455667788)))
                    from.take(1).single().shouldBe(1, ATOMIC_WRITE)
                    (0L..2).map { to.long(TARGET + it * 8) } shouldBe listOf(-1, 0x1122334455667788, -1)
                }
            }

            test("should flush what was written, announce it, and read it back, $direction") {
                BothSides.linked(direction, RC, making = PLACING) {
                    for (round in 1L..ROUNDS) {
                        from.fill(Piece(0, 10_000), seed = round.toInt())
                        from.post(
                            listOf(
                                Request(1, WRITE, listOf(Piece(0, 10_000)), at(64)),
                                Request(2, FLUSH, remote = at(64), number = 10_000),
                                Request(3, ATOMIC_WRITE, remote = at(0), number = round),
                                Request(4, READ, listOf(Piece(20_000, 8)), at(0)),
                            ),
                        )
                        val operations = listOf(WRITE, FLUSH, ATOMIC_WRITE, READ)
                        from.take(4).forEachIndexed { i, done -> done.shouldBe(i + 1L, operations[i]) }
                        to.mismatch(Piece(TARGET + 64, 10_000), seed = round.toInt()) shouldBe -1
                        from.long(20_000) shouldBe round
                    }
                }
            }

            for (operation in listOf(ATOMIC_WRITE, FLUSH)) {
                test("should refuse $operation beyond the end of the memory, $direction") {
                    BothSides.linked(direction, RC, making = PLACING) {
                        from.post(listOf(Request(1, operation, remote = at(6L shl 20), number = 8)))
                        from.take(1).single().status shouldBe REM_ACCESS_ERR
                    }
                }
            }
        }
    })
