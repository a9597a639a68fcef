package org.kverbs.ibtool.ibcheck

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.ibtool.Outcome
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.transport.MadReceiver
import org.kverbs.management.transport.MadTransport

private const val DIRECTED = 0x81
private const val REFUSED = 0x801c

/** A fabric whose ports two links away refuse to tell their PortInfo. */
private class Secretive(
    private val inner: MadTransport,
) : MadTransport by inner {
    override fun receive(receiver: MadReceiver) =
        inner.receive(
            object : MadReceiver by receiver {
                override fun received(
                    mad: ByteArray,
                    back: MadPath?,
                ) {
                    val header = SMPFormatDirected.at(mad).madHeader
                    val isDirected = mad[1].toInt() and 0xff == DIRECTED
                    if (isDirected && header.attributeID == PortInfo.attributeId && header.hopCount == 2) {
                        MADHeader.at(mad).status = REFUSED
                    }
                    receiver.received(mad, back)
                }
            },
        )
}

/** Ports that do not answer, and options of the other ibcheck commands. */
class UnknownPortSpec :
    FunSpec({
        for (command in listOf("ibchecknet", "ibcheckstate", "ibcheckwidth")) {
            test("should not count a port as good that does not tell its state: $command") {
                val outcome = Outcome(command, "--fabric", "hosts:2", between = ::Secretive)
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
