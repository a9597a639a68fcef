package org.kverbs.acceptance.newer

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.WorkCompletionStatus.REM_ACCESS_ERR
import org.kverbs.acceptance.lab.FarSide
import org.kverbs.acceptance.lab.Linked
import org.kverbs.acceptance.lab.Making
import org.kverbs.acceptance.lab.Operation.ATOMIC_WRITE
import org.kverbs.acceptance.lab.Patience
import org.kverbs.acceptance.lab.PyverbsSide
import org.kverbs.acceptance.lab.Request
import org.kverbs.acceptance.lab.SoftRoceWire
import org.kverbs.acceptance.lab.Station
import org.kverbs.acceptance.lab.TARGET
import org.kverbs.acceptance.lab.shouldBe
import org.kverbs.attributes.Feature
import org.kverbs.attributes.QueuePairType.RC

private const val DEVICE = "rxe0"

/**
 * Checks atomic writes between Pyverbs on Soft-RoCE of Linux 6.12, and kverbs on Soft-RoCE and on the embedded device.
 * Pyverbs of rdma-core 44 has no flush.
 */
internal class PyverbsPlacementSpec :
    FunSpec({
        val ours by lazy { Station(DEVICE) }
        afterSpec { ours.close() }
        val ends =
            mapOf(
                "kverbs" to { ours to PyverbsSide.running(DEVICE) },
                "embedded" to { FarSide.running() to PyverbsSide.running(SoftRoceWire.device) },
            )
        for ((end, sides) in ends) {
            for (fromPyverbs in listOf(false, true)) {
                val direction = if (fromPyverbs) "from Pyverbs to $end" else "from $end to Pyverbs"
                test("should write 8 bytes at once $direction, and not beyond the end of the memory") {
                    val (our, their) = sides()
                    val (from, to) = if (fromPyverbs) their to our else our to their
                    with(Linked(from, to, RC, Patience(), Making(listOf(Feature.ATOMIC_WRITE)))) {
                        to.putLong(TARGET, -1)
                        to.putLong(TARGET + 16, -1)
                        from.post(listOf(Request(1, ATOMIC_WRITE, remote = at(8), number = 0x1122334455667788)))
                        from.take(1).single().shouldBe(1, ATOMIC_WRITE)
                        (0L..2).map { to.long(TARGET + it * 8) } shouldBe listOf(-1, 0x1122334455667788, -1)
                        from.post(listOf(Request(2, ATOMIC_WRITE, remote = at(TARGET), number = 8)))
                        from.take(1).single().status shouldBe REM_ACCESS_ERR
                    }
                }
            }
        }
    })
