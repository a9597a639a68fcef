package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.core.test.Enabled
import io.kotest.matchers.shouldBe
import org.kverbs.management.simulation.simulatedFabric

private const val FIRST_PORT = 0x0200_0000_1000_0011L

/** ibtool beside infiniband-diags on a fat tree that ibsim simulates: -Dkverbs.hosts=108 says with how many hosts. */
class LargeReferenceSpec :
    FunSpec({
        val hosts = Integer.getInteger("kverbs.hosts")
        val isWanted =
            if (hosts == null) Enabled.disabled("-Dkverbs.hosts=108 runs it, and =1008") else Programs.presentOrSkipped
        val lazySimulator =
            lazy {
                Ibsim(simulatedFabric { hosts(checkNotNull(hosts)) }.use { it.netFile() }, "H-1", FIRST_PORT)
            }
        val simulator by lazySimulator

        afterSpec { if (lazySimulator.isInitialized()) simulator.close() }

        for (line in commands) {
            test("should print what infiniband-diags prints of a large fabric: $line")
                .config(enabledOrReasonIf = { isWanted }) {
                    val words = line.split(' ').toTypedArray()
                    val expected = simulator.reference(*words).stable()
                    val printed = simulator.ibtool(*words).stable()
                    withClue({ simulator.errors().lines().takeLast(5).joinToString("\n") }) {
                        printed.status shouldBe expected.status
                        printed.text.lines() shouldBe expected.text.lines()
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
