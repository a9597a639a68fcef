package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain

private const val HERE = "H-0002c90200000020"
private val net = checkNotNull(WritingReferenceSpec::class.java.getResource("/four-hosts.net")).readText()

/**
 * Commands that write, beside infiniband-diags on ibsim. Before each of both runs infiniband-diags brings the fabric
 * into the same state: by the commands before the arrow, or by the command itself.
 */
class WritingReferenceSpec :
    FunSpec({
        val simulator by lazy { Ibsim(net, HERE) }

        afterSpec { if (Programs.presentOrSkipped.isEnabled) simulator.close() }

        for (line in commands) {
            test("should print what infiniband-diags prints: $line")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    val words = line.substringAfter("=> ").split(' ').toTypedArray()
                    val before = line.substringBefore(" =>").split(" ; ").map { it.split(' ').toTypedArray() }
                    before.forEach { simulator.reference(*it) }
                    val expected = simulator.reference(*words)
                    before.forEach { simulator.reference(*it) }
                    // C has no --force, and asks for none.
                    val printed = simulator.ibtool(words.first(), "--force", *words.drop(1).toTypedArray())
                    withClue({ simulator.errors().lines().takeLast(5).joinToString("\n") }) {
                        printed.stable() shouldBe expected.stable()
                    }
                }
        }

        test("should make links active that came up anew, as infiniband-diags sees them then")
            .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                Ibsim(net, HERE).use { fresh ->
                    fresh.reference("ibportstate", "-D", "0,1", "5", "down")
                    fresh.reference("iblinkinfo").text shouldContain "Initialize"
                    fresh.ibtool("init_all_ports").text shouldContain " links are active now"
                    fresh.reference("iblinkinfo").text shouldNotContain "Initialize"
                    fresh.ibtool("init_all_ports").text shouldBe "0 of 0 links are active now\n"
                }
            }
    })

private val commands =
    """
    ibportstate -D 0,1 4 speed 1
    ibportstate -D 0,1 4 speed 15 width 255
    ibportstate -D 0,1 4 width 2 vls 1 mtu 4
    ibportstate -D 0,1 8 disable
    ibportstate -D 0,1 8 off
    ibportstate -D 0,1 8 disable => ibportstate -D 0,1 8 on
    ibportstate -D 0,1 8 enable => ibportstate -D 0,1 8 on
    ibportstate -D 0,1 8 reset
    ibportstate -D 0,1 5 down
    ibportstate -D 0,1 5 down => ibportstate -D 0,1 5 arm
    ibportstate -D 0,1 5 down ; ibportstate -D 0,1 5 arm => ibportstate -D 0,1 5 active
    ibportstate -D 0,1 8 espeed 1
    ibportstate -D 0,1 8 fdr10 1
    ibportstate -D 0,2 1 lid 0x33
    ibportstate -D 0,1 0 lmc 0 smlid 1
    ibportstate -D 0,1 0 mkeylease 7 mkeyprot 0
    ibportstate -K -D 0,1 0 mkey 0 mkeyprot 0
    ibportstate -D 0,1 4 mkey 5
    ibportstate -D 0,1 4 arm active
    ibportstate -D 0,1 4 speed 99
    ibportstate -D 0,1 4 lid 0xc000
    ibportstate -D 0,1 4 lid
    ibportstate -D 0,1 4 sideways
    """.trimIndent().lines()
