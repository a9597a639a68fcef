package org.kverbs.cli

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.io.File

class AotCacheSpec :
    FunSpec({
        test("should know the command whose classes the launchers keep, for they don't hear of its failure") {
            val launcher = File(System.getProperty("kverbs.root"), "cli/src/archive/aot.sh").readText()
            val words = Regex("pingpong --device [^)]*\\d").find(launcher)!!.value.split(' ')
            val outcome = Outcome(*words.toTypedArray())
            withClue(outcome) { outcome.status shouldBe 0 }
        }
    })
