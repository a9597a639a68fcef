package org.kverbs.serialization.storm

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.Diagnostics
import kotlin.time.Duration.Companion.seconds

/**
 * Services in a storm of 5 seconds, or of as many as the system property storm.seconds says; storm.seed makes the same
 * plan again. `coroutines/storm services` does it for ten minutes.
 */
class ServiceStormSpec :
    FunSpec({
        timeout = 14_400_000 // Kotest's ten minutes are too short for the long run
        invocationTimeout = timeout
        val time = System.getProperty("storm.seconds", "5").toInt().seconds
        val seed = System.getProperty("storm.seed")?.toLong() ?: System.nanoTime()

        test(
            "should lose, repeat, reorder and leak nothing, and report no crash as an orderly end, in a storm of " +
                "$time (seed $seed)",
        ) {
            Diagnostics.enable()
            try {
                ServiceStorm(seed, time).use { storm ->
                    storm.run()
                    val ledger = storm.ledger
                    println("storm of services: storm.seed=$seed, $time, $ledger")
                    println("storm of services: ${storm.chaos.done}, ${storm.fabric.faultsInjected()} packets")
                    withClue("storm.seed=$seed, $ledger, ${storm.chaos.done}") {
                        ledger.violations.joinToString("\n") shouldBe ""
                        // Check that most talks succeeded: otherwise the test proves little.
                        for (talk in Talk.entries - Talk.CANCELLED) {
                            ledger.count(Outcome.COMPLETED, talk) shouldBeGreaterThan
                                3
                        }
                        ledger.count(Outcome.CANCELLED) shouldBeGreaterThan 3
                        storm.fabric.faultsInjected() shouldBeGreaterThan 0
                    }
                }
            } finally {
                Diagnostics.disable()
            }
        }
    })
