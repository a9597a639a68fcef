package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.ibtool.congestion.CongestionAgent
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.ManagementClass

private const val LINES_OF_SWITCH = 11
private const val LINES_OF_CA = 14

/**
 * Congestion control beside infiniband-diags on a simulated fabric whose nodes have it. A line with an arrow runs what
 * is before it by one program, and then compares what both print of what it set; then the other way round.
 */
class CongestionReferenceSpec :
    FunSpec({
        val simulation by lazy {
            simulatedFabric {
                hosts(6)
                subnetManager()
            }
        }
        val programs by lazy {
            for (node in listOf("H-2", "S-1")) {
                val agent = CongestionAgent(node.startsWith("S"))
                simulation.fabric(node).serve(ManagementClass.CONGESTION_CONTROL, agent::answer)
            }
            SimulatedReference(simulation, "H-1")
        }

        afterSpec {
            if (Programs.presentOrSkipped.isEnabled) {
                programs.close()
                simulation.close()
            }
        }

        for (line in commands) {
            test("should print what infiniband-diags prints: $line")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    val query = programs.words(line.substringAfter("=> "))
                    val change = if ("=>" in line) programs.words(line.substringBefore(" =>")) else null
                    withClue({ programs.errors().lines().takeLast(5).joinToString("\n") }) {
                        val changedByC = change?.let { programs.reference(*it) }
                        val expected = programs.reference(*query)
                        if (change != null) programs.ibtool(*change).stable() shouldBe changedByC?.stable()
                        programs.reference(*query).stable() shouldBe expected.stable()
                        programs.ibtool(*query).stable() shouldBe expected.stable()
                    }
                }
        }

        for ((node, lines) in mapOf("S-1" to LINES_OF_SWITCH, "H-2" to LINES_OF_CA)) {
            // ibsim's library does not carry the end of a log: it leaves there what was in its memory.
            test("should print the log of $node as infiniband-diags does, up to the end of its first event")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    val query = programs.words("ibccquery CongestionLog $node")
                    val expected = programs.reference(*query)
                    val printed = programs.ibtool(*query)
                    printed.status shouldBe expected.status
                    printed.text.lines().take(lines) shouldBe expected.text.lines().take(lines)
                }
        }
    })

private val commands =
    """
    ibccquery ClassPortInfo H-2
    ibccquery CongestionInfo H-2
    ibccquery ci S-1
    ibccquery CongestionKeyInfo S-1
    ibccquery SwitchCongestionSetting S-1
    ibccquery SwitchPortCongestionSetting S-1
    ibccquery SP S-1 1
    ibccquery SP S-1 99
    ibccquery SP H-2
    ibccquery CACongestionSetting H-2
    ibccquery CongestionControlTable H-2
    ibccquery Timestamp H-2
    ibccquery Nonsense H-2
    ibccconfig SS S-1 0x1F 0x1FFFFFFFFF 0x0 0xF 8 0 1:5 1 => ibccquery SS S-1
    ibccconfig SP S-1 2 1 0 15 8 3 => ibccquery SP S-1
    ibccconfig CS H-2 1 0x3 150 1 0 0 => ibccquery CS H-2
    ibccconfig CT H-2 1 0 0:0 0:1 => ibccquery CT H-2
    ibccconfig CT H-2 64 0 0:0 => ibccquery CT H-2
    ibccconfig CK H-2 0 1 100 0 => ibccquery CK H-2
    ibccconfig CK H-2 0 2 100 0 => ibccquery CK H-2
    ibccconfig CI H-2 0
    ibccconfig CS H-2 1 => ibccquery CS H-2
    ibccquery -c 77 CI H-2
    """.trimIndent().lines()
