package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.simulation.simulatedFabric

private const val FIRST_PORT = 0x0200_0000_1000_0011L

/** ibtool beside infiniband-diags on fat trees of 108 and of 1008 hosts that ibsim simulates, byte for byte. */
class LargeReferenceSpec :
    FunSpec({
        for (hosts in listOf(108, 1008)) {
            val simulator = lazy { Ibsim(simulatedFabric { hosts(hosts) }.use { it.netFile() }, "H-1", FIRST_PORT) }
            afterSpec { if (simulator.isInitialized()) simulator.value.close() }

            for (line in commands) {
                test("should print what infiniband-diags prints of $hosts hosts: $line")
                    .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                        val words = line.split(' ').toTypedArray()
                        val expected = simulator.value.reference(*words).stable()
                        val printed = simulator.value.ibtool(*words).stable()
                        withClue({ simulator.value.errors().lines().takeLast(5).joinToString("\n") }) {
                            printed.status shouldBe expected.status
                            printed.text.lines() shouldBe expected.text.lines()
                        }
                    }
            }
        }
    })

private val commands =
    """
    ibnetdiscover
    ibnetdiscover -g
    ibnetdiscover -m
    ibnetdiscover -p
    ibnetdiscover -l
    iblinkinfo
    iblinkinfo -l
    ibnodes
    ibqueryerrors -c
    ibqueryerrors --counters
    dump_fts
    ibtracert 1 100
    """.trimIndent().lines()
