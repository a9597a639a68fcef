package org.kverbs.ibtool.session

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome

/** A file that cannot be written, beside what else a command found. */
class KeptFailureSpec :
    FunSpec({
        val file = tempdir().toPath().resolve("n".repeat(250))

        for ((line, status) in listOf(
            "check --fabric torus:4,4" to 1,
            "ibfindnodesusing none 1 --fabric hosts:2" to 1,
            "ibprintca none --fabric hosts:2" to 255,
        )) {
            test("should say that the cache cannot be written though the command itself ends with $status: $line") {
                val outcome = Outcome(*line.split(' ').toTypedArray(), "--cache", "$file")
                withClue("$outcome") { outcome.status shouldBe status }
                "${outcome.err}" shouldContain
                    "${line.substringBefore(' ')}: --cache $file cannot be written: File name too long\n"
            }
        }
    })
