package org.kverbs.ibtool

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.string.shouldBeEmpty
import io.kotest.matchers.string.shouldNotBeEmpty

class TrainingSpec :
    FunSpec({
        test("should train on commands that run, each with an output and without an error") {
            TRAINING.forEach { words ->
                val outcome = Outcome(*words.toTypedArray())
                withClue("$words: ${outcome.err}") {
                    "${outcome.err}".shouldBeEmpty()
                    "${outcome.out}".shouldNotBeEmpty()
                }
            }
        }
    })
