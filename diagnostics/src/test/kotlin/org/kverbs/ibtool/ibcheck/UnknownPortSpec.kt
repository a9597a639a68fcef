package org.kverbs.ibtool.ibcheck

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Changed
import org.kverbs.ibtool.Outcome
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SMPFormatDirected

private const val DIRECTED = 0x81
private const val REFUSED = 0x801c

/** Makes the ports two links away refuse to tell their PortInfo. */
private fun secretive(mad: ByteArray) {
    val header = SMPFormatDirected.at(mad).madHeader
    if (mad[1].toInt() and 0xff == DIRECTED && header.hopCount == 2) MADHeader.at(mad).status = REFUSED
}

/** Ports that do not answer, and options of the other ibcheck commands. */
class UnknownPortSpec :
    FunSpec({
        for (command in listOf("ibchecknet", "ibcheckstate", "ibcheckwidth")) {
            test("should not count a port as good that does not tell its state: $command") {
                val outcome =
                    Outcome(
                        command,
                        "--fabric",
                        "hosts:2",
                        between = { Changed(it, PortInfo.attributeId, ::secretive) },
                    )
                withClue("$outcome") { outcome.status shouldBe 255 }
                "${outcome.out}" shouldContain "#warn: Its state is not known: "
                "${outcome.out}" shouldContain "ports checked, 1 bad ports found"
            }
        }

        test("should take thresholds only where counters are checked") {
            for (command in listOf("ibcheckstate", "ibcheckwidth")) {
                val outcome = Outcome(command, "-T", "/dev/null", "--fabric", "hosts:2")
                withClue("$outcome") { outcome.status shouldBe 2 }
            }
            Outcome("ibcheckerrors", "-T", "/dev/null", "--fabric", "hosts:2").status shouldBe 0
        }
    })
