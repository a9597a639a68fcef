package org.kverbs.ibtool.session

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.Job
import kotlinx.coroutines.awaitCancellation
import kotlinx.coroutines.runBlocking

class FinishedSpec :
    FunSpec({
        timeout = 60_000

        test("should give all answers in the order of the questions") {
            finished(listOf(3, 1, 2), Job()) { "answer $it" } shouldBe listOf("answer 3", "answer 1", "answer 2")
        }

        test("should give the answers that had come when it was stopped") {
            val stop = Job()
            // In the one thread of runBlocking the fourth question comes when the first and the third have their answers.
            runBlocking {
                finished(listOf(1, 2, 3, 4), stop) {
                    if (it == 4) stop.complete()
                    if (it % 2 == 0) awaitCancellation()
                    it
                }
            } shouldBe listOf(1, 3)
        }

        test("should end with what a question throws") {
            shouldThrow<IllegalStateException> { finished(listOf(1, 2), null) { check(it < 2) { "no answer" } } }
        }
    })
