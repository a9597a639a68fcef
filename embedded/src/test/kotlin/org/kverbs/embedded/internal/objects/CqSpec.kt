package org.kverbs.embedded.internal.objects

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.transport.Hca
import org.kverbs.internal.abi.IbvCq
import java.lang.foreign.Arena
import java.util.Random

class CqSpec :
    FunSpec({
        test("should tell all its queue pairs of an overrun, whatever one of them throws") {
            val engine = Engine(true)
            val hca = Hca("device", 1, engine, Gids(0, 0xffff_c612_0001), 4096, Random(1))
            val reported = mutableListOf<Throwable>()
            engine.onFailure { reported += it }
            Arena.ofConfined().use { arena ->
                val cq =
                    Cq(
                        hca,
                        AsyncEvents(engine),
                        arena.allocate(IbvCq.SIZE.toLong(), 8).address(),
                        1,
                        null,
                        CqOptions.NONE,
                    )
                var told = 0
                val failures = listOf(IllegalStateException("a bug"), OutOfMemoryError("none left"))
                failures.forEach { cq.users += CompletionUser { throw it } }
                cq.users += CompletionUser { told++ }
                engine.enter()
                repeat(2) { cq.add(1, 0, 0, 0, 0, 1, 1, 0, false, Occupancy(Semantics.STRICT, false), null) }
                engine.leave()
                told shouldBe 1
                reported shouldBe failures
            }
        }
    })
