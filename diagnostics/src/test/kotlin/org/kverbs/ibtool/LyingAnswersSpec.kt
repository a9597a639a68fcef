package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeIn
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.serialization.json.Json
import kotlin.time.Duration.Companion.minutes

/** Whatever nodes and administrator answer, a command ends with an answer of its own. */
class LyingAnswersSpec :
    FunSpec({
        timeout = 5.minutes.inWholeMilliseconds

        // These ask no node.
        val local = setOf("ibstatus", "ibv_devices", "ibccconfig")
        val fabric = arrayOf("--fabric", "fat-tree:4", "--timeout", "100", "--retries", "0")

        for (command in COMMAND_LINES.keys - local) {
            for (lie in Lie.entries) {
                test("should end with an answer whatever it is told: $command, $lie") {
                    val words = COMMAND_LINES.getValue(command).split(' ').filter { it.isNotEmpty() }.toTypedArray()
                    val text = Outcome(command, *words, *fabric, between = { Lies(it, lie) })
                    val json = Outcome(command, *words, *fabric, "--json", between = { Lies(it, lie) })
                    for (outcome in listOf(text, json)) {
                        withClue("$outcome") {
                            outcome.status shouldBeIn listOf(0, 1, 2, 3, 255)
                            if (outcome.status == 255) (outcome.err.isEmpty() && outcome.out.isEmpty()) shouldBe false
                        }
                    }
                    withClue("$json") { if (json.out.isNotEmpty()) Json.parseToJsonElement("${json.out}") }
                }
            }
        }

        test("should end on a fabric without end, and say that it has seen a part") {
            val outcome = Outcome("ibswitches", "--fabric", "hosts:2", between = { LyingFabric() })
            withClue("${outcome.status} ${outcome.err}") { "${outcome.err}" shouldContain "100000" }
        }
    })
