package org.kverbs.ibtool.routes

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import kotlin.time.Duration.Companion.minutes

private const val ALL_PORTS = 0xffff
private const val SECOND_PORT = 4

/** `ibtracert -m` on fabrics without end. */
class MulticastTraceSpec :
    FunSpec({
        timeout = 3.minutes.inWholeMilliseconds

        fun run(mask: Int) =
            Outcome("ibtracert", "-m", "0xc000", "2", "3", "--fabric", "hosts:2", between = { EndlessTree(it, mask) })

        test("should not follow a multicast route over more links than a directed path has") {
            val outcome = run(SECOND_PORT)
            withClue("$outcome") { outcome.status shouldBe 255 }
            "${outcome.err}" shouldContain "can't find a multicast route from src to dest"
        }

        test("should end on a fabric that shows a new switch at each port, and say why") {
            val outcome = run(ALL_PORTS)
            withClue("$outcome") { outcome.status shouldBe 255 }
            "${outcome.err}" shouldContain "can't find a multicast route from src to dest: there are more than "
        }
    })
