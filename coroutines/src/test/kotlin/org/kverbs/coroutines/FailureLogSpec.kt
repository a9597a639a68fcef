package org.kverbs.coroutines

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TestTimeSource

class FailureLogSpec :
    FunSpec({
        test("should write one message in each second, with the number of those left out") {
            val clock = TestTimeSource()
            val written = mutableListOf<String>()
            val log = FailureLog(clock = clock) { message, failure -> written += "$message: ${failure.message}" }
            clock += 1.milliseconds
            repeat(3) { log.add("failed", IllegalStateException("$it")) }
            clock += 1.seconds + 1.milliseconds
            repeat(2) { log.add("failed", IllegalStateException("${it + 3}")) }
            clock += 2.seconds
            log.add("failed", IllegalStateException("5"))
            written shouldBe
                listOf(
                    "failed: 0",
                    "failed (and 2 more since the last such message): 3",
                    "failed (and 1 more since the last such message): 5",
                )
        }
    })
