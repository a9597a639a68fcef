package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.serialization.json.Json
import kotlin.time.Duration.Companion.minutes
import kotlin.time.TimeSource

/** Whatever nodes and administrator answer, a command ends with an answer of its own. */
class LyingAnswersSpec :
    FunSpec({
        timeout = 5.minutes.inWholeMilliseconds

        val local = setOf("ibstatus", "ibv_devices", "ibccconfig")
        val fabric = arrayOf("--fabric", "hosts:2", "--timeout", "100", "--retries", "0")

        for (command in COMMAND_LINES.keys - local) {
            for (lie in Lie.entries) {
                test("should end with an answer whatever it is told: $command, $lie") {
                    val words = COMMAND_LINES.getValue(command).split(' ').filter { it.isNotEmpty() }.toTypedArray()
                    for (more in listOf(emptyArray(), arrayOf("--json"))) {
                        val begin = TimeSource.Monotonic.markNow()
                        val outcome = Outcome(command, *words, *fabric, *more, between = { Lies(it, lie) })
                        System.err.println(
                            "$command $lie ${more.toList()} ${begin.elapsedNow()} ${outcome.status} ${outcome.out.length} ${outcome.err.length}",
                        )
                        withClue("$outcome") {
                            (outcome.status in setOf(0, 1, 2, 3, 255)) shouldBe true
                            if (more.isNotEmpty() && outcome.out.isNotEmpty()) Json.parseToJsonElement("${outcome.out}")
                        }
                    }
                }
            }
        }
    })
