package org.kverbs.ibtool.session

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldEndWith
import io.kotest.matchers.string.shouldStartWith
import kotlinx.coroutines.delay
import org.kverbs.ibtool.Outcome
import kotlin.time.Duration
import kotlin.time.Duration.Companion.hours
import kotlin.time.Duration.Companion.milliseconds

private const val CLEAR = "\r\u001b[K"

class ProgressSpec :
    FunSpec({
        timeout = 60_000

        test("should show how far the work is while it lasts, and clear the line at its end") {
            val drawn = StringBuffer()
            val result =
                Progress(drawn, Duration.ZERO).during({ "half done" }) {
                    while (drawn.isEmpty()) delay(1.milliseconds)
                    7
                }
            result shouldBe 7
            "$drawn" shouldStartWith "${CLEAR}half done\r"
            "$drawn" shouldEndWith "\r$CLEAR"
        }

        test("should draw nothing of work that is soon done") {
            val drawn = StringBuffer()
            Progress(drawn, 1.hours).during({ "half done" }) { delay(1.milliseconds) }
            "$drawn" shouldBe ""
        }

        test("should cut a line that is wider than a terminal") {
            val drawn = StringBuffer()
            Progress(drawn, Duration.ZERO).during({ "x".repeat(500) }) {
                while (drawn.isEmpty()) delay(1.milliseconds)
            }
            "$drawn" shouldStartWith CLEAR + "x".repeat(79) + "\r"
        }

        test("should show nothing where a command runs in another program") {
            "${Outcome("ibhosts", "--fabric", "hosts:2").err}" shouldBe ""
        }
    })
