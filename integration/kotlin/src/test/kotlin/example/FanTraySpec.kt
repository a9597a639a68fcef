package example

import example.fans.FanState
import example.fans.FanTray
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.path.lid
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.simulation.test
import org.kverbs.management.structures.ManagementClass
import org.kverbs.structures.TakesSet

private fun <T> change(structure: T) where T : TakesSet = structure

class FanTraySpec :
    FunSpec({
        test("should have a class for a structure of its own, made by the build") {
            val tray =
                FanTray {
                    count = 2
                    states[1] = FanState.FAST
                    speeds[1] = 420
                }
            tray.states[1].toString() shouldBe "FAST(2)"
            tray.bytes().toHexString() shouldBe "000000000000000010200001a4000000"
            change(tray).speeds.toList() shouldBe listOf(0, 420, 0, 0)
        }

        test("should ask a program for a structure of its own, over a simulated fabric") {
            simulatedFabric {
                hosts(2)
                subnetManager()
            }.test { simulation ->
                simulation.fabric("H-2").use { far ->
                    far.serve(ManagementClass.of(0x0b)) { request -> request.answer(FanTray { count = 2 }) }
                    simulation.fabric("H-1").use { fabric ->
                        val tray = fabric.get<FanTray>(lid(far.port().info.lid))
                        tray.count shouldBe 2
                    }
                }
            }
        }
    })
