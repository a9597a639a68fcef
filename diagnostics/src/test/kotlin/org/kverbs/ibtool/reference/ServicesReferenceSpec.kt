package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.ibtool.services.HostServer
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.ManagementClass

/**
 * `ibping` and `ibsysstat` beside infiniband-diags on a simulated fabric. Both ask a server of ibtool: that of
 * infiniband-diags ends with a segmentation fault there.
 */
class ServicesReferenceSpec :
    FunSpec({
        val simulation by lazy {
            simulatedFabric {
                hosts(6)
                subnetManager()
            }
        }
        val programs by lazy {
            simulation.fabric("H-2").apply {
                serve(ManagementClass.OPENIB_PING, HostServer::ping)
                serve(ManagementClass.OPENIB_SYSSTAT, HostServer::system)
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
                    val words = programs.words(line)
                    val expected = programs.reference(*words)
                    val printed = programs.ibtool(*words)
                    withClue({ programs.errors().lines().takeLast(5).joinToString("\n") }) {
                        printed.stable() shouldBe expected.stable()
                    }
                }
        }
    })

/** No program serves at H-3: the node itself answers. */
private val commands =
    """
    ibping -c 1 H-2
    ibping -f -c 3 H-2
    ibping -f -c 1 -t 50 H-3
    ibsysstat H-2
    ibsysstat H-2 ping
    ibsysstat H-2 host
    vendstat -t 50 -N H-3
    """.trimIndent().lines()
