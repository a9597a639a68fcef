package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionStatus.LOC_PROT_ERR
import org.kverbs.WorkCompletionStatus.LOC_QP_OP_ERR
import org.kverbs.WorkCompletionStatus.SUCCESS
import org.kverbs.WorkCompletionStatus.WR_FLUSH_ERR
import org.kverbs.embedded.internal.wire.Opcode.RC_ACK
import java.time.Duration

private const val ACK = 0x1f
private const val NOBODYS_KEY = 1

/** Checks a request that fails before it is sent: it must neither delay earlier requests nor let later ones go. */
class RequestOrderSpec :
    FunSpec({
        fun List<WorkCompletion>.results() = map { it.workRequestId() to it.status() }

        test("should complete a write at once before a request whose key is wrong, fail that, and flush the rest") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                b.fill(1)
                val before = b.bytes(8, 8)
                a.fill(2)
                a.post {
                    write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled()
                    write(2, b.mr.remote()).entry(a.mr.address(), 8, NOBODYS_KEY)
                    write(3, b.mr.remote().at(8)).from(a.mr.slice(0, 8))
                }
                a.take(3).results() shouldBe listOf(1L to SUCCESS, 2L to LOC_PROT_ERR, 3L to WR_FLUSH_ERR)
                b.bytes(0, 8) shouldBe a.bytes(0, 8)
                b.bytes(8, 8) shouldBe before
                pair.fabric.clock().elapsed() shouldBe Duration.ZERO
            }
        }

        test("should complete a write at once before an invalidation that fails, and send nothing behind that") {
            Pair(EmbeddedFabric.virtual(1)).use { pair ->
                val (a, b) = pair
                b.fill(1)
                val before = b.bytes(8, 8)
                a.post {
                    write(1, b.mr.remote()).from(a.mr.slice(0, 8)).signaled()
                    localInvalidate(2, NOBODYS_KEY)
                    write(3, b.mr.remote().at(8)).from(a.mr.slice(0, 8))
                }
                a.take(3).results() shouldBe listOf(1L to SUCCESS, 2L to LOC_QP_OP_ERR, 3L to WR_FLUSH_ERR)
                b.bytes(8, 8) shouldBe before
                pair.fabric.clock().elapsed() shouldBe Duration.ZERO
            }
        }

        test("should send a write again that was lost before a request whose key is wrong") {
            PeerBench().use { bench ->
                bench.during { bench.write(1, bench.mr.lkey()) }.map { it.psn } shouldBe listOf(0)
                bench.during { bench.write(2, NOBODYS_KEY) }
                bench.poll().shouldBeEmpty()
                bench.pass(Duration.ofMillis(5)).map { it.psn } shouldBe listOf(0)
                bench.during { bench.write(3, bench.mr.lkey()) }.shouldBeEmpty()
                bench.arrive(RC_ACK, 0) { syndrome = ACK }
                bench.poll().results() shouldBe listOf(1L to SUCCESS, 2L to LOC_PROT_ERR, 3L to WR_FLUSH_ERR)
            }
        }
    })

private fun PeerBench.write(
    id: Long,
    key: Int,
) {
    qp.postWith { it.write(id, mr.remote()).entry(mr.address(), 8, key).signaled() }
}
