package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeIn
import io.kotest.matchers.shouldBe

/** The command lines that specs of hostile fabrics run show something on a healthy one. */
class CommandLinesSpec :
    FunSpec({
        val folder = tempdir().toPath()
        val exceptions = emptyMap<String, Int>()

        for ((command, words) in COMMAND_LINES) {
            test("should be a command line that works: $command $words") {
                val line = words.split(' ').filter { it.isNotEmpty() }.toTypedArray()
                val outcome = Outcome(command, *line, "--fabric", "fat-tree:4")
                withClue("$outcome") {
                    val status = exceptions[command]
                    if (status == null) outcome.status shouldBeIn listOf(0, 1) else outcome.status shouldBe status
                }
            }
        }

        test("should find the switch of a command line in the hostile fabric, too") {
            val outcome = Outcome("ibfindnodesusing", FIRST_SWITCH, "1", "--fabric", "${hostileNet(folder)}")
            withClue("$outcome") { outcome.status shouldBe 0 }
        }
    })
