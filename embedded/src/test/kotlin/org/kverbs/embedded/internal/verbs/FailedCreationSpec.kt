package org.kverbs.embedded.internal.verbs

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.nulls.shouldNotBeNull
import io.kotest.matchers.shouldBe
import org.kverbs.embedded.DeviceLimits
import org.kverbs.embedded.FuzzLink
import org.kverbs.embedded.Semantics
import org.kverbs.embedded.internal.engine.Engine
import org.kverbs.embedded.internal.objects.Gids
import org.kverbs.embedded.internal.transport.Hca
import java.lang.foreign.Arena
import java.util.Random

/** Gives numbers, or has no memory for one. */
private class Scarce : Random(1) {
    var failing = false

    override fun nextInt() = if (failing) throw OutOfMemoryError("a test's own") else super.nextInt()
}

class FailedCreationSpec :
    FunSpec({
        test("should count neither a region or window whose making threw, nor its bytes") {
            val random = Scarce()
            val limits = DeviceLimits.DEFAULTS.memoryRegions(2).lockedBytes(100)
            val hca = Hca("device", 1, Engine(true), Gids(0, 0xffff_c612_0001), 4096, random, Semantics.STRICT, limits)
            hca.connect(FuzzLink { _, _ -> false })
            repeat(2) {
                val context = EmbeddedContext.open(hca).context().shouldNotBeNull()
                Arena.ofConfined().use { arena ->
                    val pd = context.allocPd()
                    val memory = arena.allocate(50).address()
                    random.failing = true
                    repeat(3) {
                        shouldThrow<OutOfMemoryError> { context.registerMemory(pd, memory, 50, 0, 0) }
                        shouldThrow<OutOfMemoryError> { context.allocMemoryWindow(pd, 1) }
                    }
                    random.failing = false
                    repeat(2) {
                        context.registerMemory(pd, memory, 50, 0, 0) shouldBeGreaterThan 0
                        context.allocMemoryWindow(pd, 1) shouldBeGreaterThan 0
                    }
                }
                context.close() shouldBe 0
            }
        }
    })
