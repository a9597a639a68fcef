package org.kverbs.acceptance.lab

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.RETRY_EXC_ERR
import org.kverbs.acceptance.lab.Operation.WRITE
import org.kverbs.attributes.QueuePairType.RC

/**
 * Checks the error of each side when the other is gone. Its name makes it the last spec: one after it would have to
 * start a new process.
 */
internal class EmbeddedUnreachableSpec :
    FunSpec({
        for (direction in Direction.entries) {
            test("should fail by RETRY_EXC_ERR when the peer dies on RC $direction") {
                BothSides.linked(direction, RC, Patience(timeout = 12, retries = 2)) {
                    carry(WRITE, 100)
                    die()
                    from.post(listOf(Request(1, WRITE, listOf(Piece(0, 8)), at(0))))
                    from.take(1).single().status shouldBe RETRY_EXC_ERR
                }
            }
        }
    })
