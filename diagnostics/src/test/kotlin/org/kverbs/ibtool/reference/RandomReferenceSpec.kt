package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe

/**
 * ibtool beside infiniband-diags on fabrics of chance that ibsim simulates, byte for byte: whole, and with faults that
 * are typed at ibsim's console.
 */
class RandomReferenceSpec :
    FunSpec({
        for (seed in 1..4) {
            val fabric = Chance(seed)
            val simulator = lazy { fabric.simulator() }
            afterSpec { if (simulator.isInitialized()) simulator.value.close() }

            fun compare(
                state: String,
                before: Ibsim.() -> Unit,
            ) = test("should print what infiniband-diags prints of a fabric of chance, $state (seed $seed)")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    simulator.value.before()
                    for (line in commands) {
                        val words = line.split(' ').toTypedArray()
                        val expected = simulator.value.reference(*words).stable()
                        val printed = simulator.value.ibtool(*words).stable()
                        withClue("$line: ${simulator.value.errors().lines().takeLast(5)}") {
                            printed.text.lines() shouldBe expected.text.lines()
                            printed.status shouldBe expected.status
                        }
                    }
                }
            compare("whole") {}
            compare("with links that are away and errors that count") { console(fabric.faults()) }
        }
    })

private val commands =
    """
    ibnetdiscover
    ibnetdiscover -g
    ibnetdiscover -p
    ibnetdiscover -m
    iblinkinfo
    iblinkinfo -l
    iblinkinfo -d
    ibnodes
    ibqueryerrors
    ibqueryerrors -r --data
    ibqueryerrors --details
    ibqueryerrors --counters
    dump_fts
    dump_fts -M
    ibroute 2
    ibroute -M 2
    ibtracert 1 4
    ibtracert 4 1
    ibtracert 3 5
    smpquery NI 2
    smpquery PI 2 1
    smpquery -D PI 0,1 2
    perfquery -a 2
    perfquery 4
    ibportstate -D 0,1 2
    sminfo
    """.trimIndent().lines()
