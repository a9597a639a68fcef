package org.kverbs.ibtool.ibcheck

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldMatch
import org.kverbs.ibtool.Outcome
import org.kverbs.ibtool.hostileNet
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.structures.Lid
import org.kverbs.structures.copy
import java.nio.file.Path
import kotlin.io.path.writeText

private val good =
    PortInfo {
        portState = PortState.ACTIVE
        portPhysicalState = PortPhysicalState.LINK_UP
        linkWidthActive = LinkWidth.W4X
        linkWidthSupported = LinkWidth.W1X + LinkWidth.W4X
        lid = Lid(3)
        masterSMLID = Lid(1)
    }

class IbCheckSpec :
    FunSpec({
        test("should say nothing of what is good without -v, and exit with 0") {
            for (line in listOf("ibchecknode 3", "ibcheckport 2 1", "ibcheckportwidth 2 1", "ibcheckerrs 2 1")) {
                val outcome = Outcome(*line.split(' ').toTypedArray(), "--fabric", "hosts:6")
                withClue("$line $outcome") {
                    outcome.status shouldBe 0
                    "${outcome.out}" shouldBe ""
                }
            }
            "${Outcome("ibchecknode", "-v", "3", "--fabric", "hosts:6").out}" shouldBe "Node check lid 3:  OK\n"
            "${Outcome("ibcheckport", "-v", "2", "1", "--fabric", "hosts:6").out}" shouldBe
                "Port check lid 2 port 1:  OK\n"
            "${Outcome("ibcheckerrs", "-v", "2", "--fabric", "hosts:6").out}" shouldMatch
                "Error check on lid 2 \\(.*\\) port all:  OK\n"
        }

        test("should name what is wrong with a port") {
            PortChecks.entries.flatMap { it.faults(good) }.shouldBeEmpty()
            val down =
                good.copy {
                    portState = PortState.DOWN
                    portPhysicalState = PortPhysicalState.POLLING
                }
            PortChecks.STATE.faults(down) shouldBe
                listOf("Physical link state is POLLING", "Logical link state is DOWN")
            PortChecks.WIDTH.faults(good.copy { linkWidthActive = LinkWidth.W1X }).single() shouldContain
                "Link configured as 1X"
            PortChecks.SETTINGS.faults(good.copy { lid = Lid(0) }) shouldBe listOf("Lid is not configured")
        }

        test("should fail for a port without a link, and for a node that is not there") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            val info = Outcome("smpquery", "PI", "0,1", "0", "--fabric", net).out
            val lid = checkNotNull(Regex("\nLid:\\.+(\\d+)").find(info)).groupValues[1]
            val port = Outcome("ibcheckportstate", lid, "4", "--fabric", net)
            port.status shouldBe 255
            "${port.out}" shouldContain "#warn: Logical link state is DOWN"
            val node = Outcome("ibchecknode", "77", "--fabric", "hosts:6")
            node.status shouldBe 255
            "${node.out}" shouldContain "Node check lid 77:  FAILED\n"
        }

        test("should read thresholds with comments, by the names of perfquery and by older ones") {
            val file = Path.of("${tempdir()}", "limits")
            file.writeText("# ours\nSymbolErrors=0x10 # short name\n\nVL15Dropped = 7\n")
            val limits = CheckLimits.read(file)
            limits.of("SymbolErrorCounter") shouldBe 16
            limits.of("VL15Dropped") shouldBe 7
            limits.of("PortXmitDiscards") shouldBe 100
            limits.isExceeded("SymbolErrorCounter", 16) shouldBe false
            limits.isExceeded("SymbolErrorCounter", 17) shouldBe true
            limits.isExceeded("PortXmitWait", -1) shouldBe false
            "${Outcome("ibcheckerrs", "-s", "-T", "$file", "--fabric", "hosts:2").out}".lines().first() shouldBe
                "SymbolErrorCounter=16"
        }

        test("should refuse a file whose lines are no thresholds, and quote the line") {
            val file = Path.of("${tempdir()}", "limits")
            file.writeText("Nonsense=4\n")
            val outcome = Outcome("ibcheckerrors", "-T", "$file", "--fabric", "hosts:2")
            outcome.status shouldBe 255
            "${outcome.err}" shouldContain "\"Nonsense=4\" is no threshold"
        }

        test("should sum up what was checked in the whole fabric") {
            "${Outcome("ibchecknet", "--fabric", "hosts:6").out}" shouldBe
                """

                ## Summary: 17 nodes checked, 0 bad nodes found
                ##          40 ports checked, 0 bad ports found
                ##          0 ports have errors beyond threshold

                """.trimIndent()
            "${Outcome("ibcheckerrors", "--fabric", "hosts:6").out}" shouldContain
                "ports checked, 0 ports have errors beyond threshold"
        }

        test("should print no hostile name that moves a cursor") {
            val net = "${hostileNet(Path.of("${tempdir()}"))}"
            for (line in listOf("ibcheckerrs -v 2", "ibchecknet", "ibchecknet --json")) {
                val out = Outcome(*line.split(' ').toTypedArray(), "--fabric", net).out
                out.filter { it != '\n' }.toString() shouldMatch "[ -~]*"
            }
        }
    })
