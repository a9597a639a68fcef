package org.kverbs.embedded

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import org.kverbs.embedded.internal.transport.Inside
import org.kverbs.embedded.internal.transport.InsideQueuePair
import java.time.Duration
import kotlin.random.Random

private val OFTEN = Duration.ofNanos(5_000)

/**
 * Checks the invariants of a send queue's cursors, as the package description of the transport states them, on a bad
 * line.
 */
class CursorSpec :
    FunSpec({
        test("should keep the invariants of all cursors through loss, duplicates and overtaking") {
            var checks = 0L
            for (seed in 1L..20L) {
                Pair(EmbeddedFabric.virtual(seed), options = patient, bytes = 1 shl 16).use { pair ->
                    pair.fabric.setFaults(Faults.NONE.loss(0.05).duplication(0.05).reordering(0.1))
                    val watched = pair.insides()
                    var goesOn = true

                    fun watch() {
                        if (!goesOn) return
                        watched.forEach(InsideQueuePair::checkCursors)
                        checks++
                        pair.fabric.clock().after(OFTEN, ::watch)
                    }
                    watch()
                    exchange(pair, Random(seed))
                    goesOn = false
                }
            }
            checks shouldBeGreaterThan 1000
        }
    })

private fun Pair.insides(): List<InsideQueuePair> {
    val devices = fabric.provider().devices().map { Inside((it as EmbeddedDevice).hca()) }
    return listOf(devices[0].queuePair(a.qp.number()), devices[1].queuePair(b.qp.number()))
}
