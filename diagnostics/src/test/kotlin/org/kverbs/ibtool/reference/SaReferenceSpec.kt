package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldNotBeEmpty

private const val HERE = "H-0002c90200000020"
private val net = checkNotNull(SaReferenceSpec::class.java.getResource("/four-hosts.net")).readText()

/** What opensm's records do not say: ports without a link, and the port of a switch by which a question arrives. */
private val unknown = Regex("LocalPort:.*|(?m)^SW +\\d+ +\\d+ 0x\\p{XDigit}{16} \\S+ \\S+ +'.*\\n")

private fun Answer.comparable() = stable().let { it.copy(text = it.text.replace(unknown, "")) }

/**
 * `--sa` beside directed routes, on a fabric that opensm manages under ibsim. Different are only what opensm does not
 * know: the settings of ports without a link, and the tables of virtual lanes if it does not set them up.
 */
class SaReferenceSpec :
    FunSpec({
        val simulator by lazy { Ibsim(net, HERE) }

        afterSpec { if (Programs.presentOrSkipped.isEnabled) simulator.close() }

        for (line in commands) {
            test("should answer from opensm's records what directed routes find: $line")
                .config(enabledOrReasonIf = { Programs.presentOrSkipped }) {
                    val words = line.split(' ').toTypedArray()
                    val nodes = simulator.ibtool(*words).comparable()
                    val records = simulator.ibtool(*words, "--sa").comparable()
                    withClue({ simulator.errors().lines().takeLast(5).joinToString("\n") }) {
                        nodes.text.shouldNotBeEmpty()
                        records shouldBe nodes
                    }
                }
        }
    })

private val commands =
    """
    ibnetdiscover
    ibnetdiscover -p
    ibnetdiscover -l
    iblinkinfo
    iblinkinfo -l
    ibhosts
    ibswitches
    ibnodes
    ibroute 2
    ibroute -D 0,1
    ibroute -M 2
    ibtracert 3 7
    dump_fts
    dump_fts -M
    smpquery NI 4
    smpquery NI -D 0,1
    smpquery ND 2
    smpquery PI 2 4
    smpquery PI 4
    smpquery SI 2
    smpquery PKeys 4
    smpquery PKeys 2 1
    smpquery GI 4
    sminfo 1
    ibaddr -D 0,1
    """.trimIndent().lines()
