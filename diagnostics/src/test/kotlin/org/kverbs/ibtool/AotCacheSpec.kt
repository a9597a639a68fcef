package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import java.nio.file.Path
import kotlin.io.path.readText

class AotCacheSpec :
    FunSpec({
        test("should know the command whose classes the launcher keeps, for it doesn't hear of its failure") {
            val launcher = Path.of(System.getProperty("kverbs.root"), "ibtool").readText()
            val words = Regex("(?m)^aot_run=\\((.*)\\)$").find(launcher)!!.groupValues[1].split(' ')
            val outcome = Outcome(*words.toTypedArray())
            withClue("$outcome") { outcome.status shouldBe 0 }
        }
    })
