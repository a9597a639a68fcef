package example

import example.fans.FanState
import example.fans.FanTray
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
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
    })
