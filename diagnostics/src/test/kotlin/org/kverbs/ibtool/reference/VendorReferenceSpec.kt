package org.kverbs.ibtool.reference

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.ibtool.services.MellanoxDevice
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.ManagementClass

/** `vendstat` beside infiniband-diags on a simulated fabric with devices of Mellanox. */
class VendorReferenceSpec :
    FunSpec({
        val simulation by lazy {
            simulatedFabric {
                hosts(6)
                subnetManager()
            }
        }
        val programs by lazy {
            for ((node, device) in mapOf("H-2" to 47396, "H-3" to 0x1017)) {
                simulation.fabric(node).serve(ManagementClass.MELLANOX, MellanoxDevice(device)::answer)
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

private val commands =
    """
    vendstat -N H-2
    vendstat -N H-3
    vendstat -w H-3
    vendstat -i H-3 1
    vendstat -c 0,1 H-3 1
    vendstat -R 1000 H-3
    vendstat -R 5000,f -R 0x7000 H-3
    vendstat -W 1000,ff H-3
    vendstat -W 1000,ff,0f -R 3000 H-3
    vendstat H-3
    """.trimIndent().lines()
