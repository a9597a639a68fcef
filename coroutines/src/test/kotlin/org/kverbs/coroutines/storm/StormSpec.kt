package org.kverbs.coroutines.storm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe

/**
 * 100,000 operations of 10,000 coroutines, or as many as the system property storm.operations says, with all that can
 * go wrong; storm.seed makes the same plan again. `coroutines/storm` does millions.
 */
class StormSpec :
    FunSpec({
        timeout = 14_400_000 // Kotest's ten minutes are too short for the long run on a slow machine
        invocationTimeout = timeout
        val operations = System.getProperty("storm.operations", "100000").toLong()
        val seed = System.getProperty("storm.seed")?.toLong() ?: System.nanoTime()

        test(
            "should end each operation once, touch no other buffer, and lose and leak nothing in a storm (seed $seed)",
        ) {
            Storm(seed, operations).use { storm ->
                val started = System.nanoTime()
                storm.run()
                val ledger = storm.ledger
                println("storm: storm.seed=$seed, ${(System.nanoTime() - started) / 1_000_000} ms, $ledger")
                println(
                    "storm: ${storm.chaos.done}, ${storm.lanes.sumOf {
                        it.links
                    }} links, ${storm.aftermath.whole} whole to the end",
                )
                // Each violation in full: shouldBeEmpty names the first only.
                val violations = ledger.violations.toList()
                val all = violations.joinToString("\n", "${ledger.violationCount} violations:\n")
                withClue("storm.seed=$seed, $ledger\n$all") {
                    violations.shouldBeEmpty()
                    StormOutcome.entries.sumOf { ledger.count(it) } shouldBe ledger.begun
                    // Check that most operations succeeded: otherwise the test proves little.
                    ledger.count(StormOutcome.COMPLETED) shouldBeGreaterThan operations / 20
                    ledger.count(StormOutcome.CANCELLED) shouldBeGreaterThan operations / 20
                    ledger.count(StormOutcome.FAILED) shouldBeGreaterThan operations / 100
                    storm.fabric.faultsInjected() shouldBeGreaterThan operations / 100
                    storm.aftermath.whole.toLong() shouldBeGreaterThan Storm.LANES / 4L
                }
            }
        }
    })
