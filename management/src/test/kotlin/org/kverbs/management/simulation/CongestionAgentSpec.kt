package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.lid
import org.kverbs.management.structures.CACongestionSetting
import org.kverbs.management.structures.CongestionControlTable
import org.kverbs.management.structures.CongestionInfo
import org.kverbs.management.structures.CongestionKeyInfo
import org.kverbs.management.structures.CongestionLogCA
import org.kverbs.management.structures.CongestionLogSwitch
import org.kverbs.management.structures.SwitchCongestionSetting
import org.kverbs.management.structures.SwitchPortCongestionSetting
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTimeoutException
import kotlin.time.Duration.Companion.milliseconds

private const val KEY = 0x1234L

private fun SimulatedFabric.pathTo(node: String): LidPath = port(node).use { lid(it.port().info.lid.value) }

private fun SimulatedFabric.asker(key: Long = 0): Fabric =
    fabric("H-1") {
        ccKey(key)
        timeout(50.milliseconds)
        retries(0)
    }

private fun small() =
    simulatedFabric {
        switch("S-1", 36)
        host("H-1")
        host("H-2")
        link("S-1", 1, "H-1", 1)
        link("S-1", 2, "H-2", 1)
        subnetManager("S-1")
    }

class CongestionAgentSpec :
    FunSpec({
        test("should keep the settings of congestion control, each node its own") {
            small().test { simulation ->
                simulation.asker().use { fabric ->
                    val host = simulation.pathTo("H-2")
                    fabric.set(host, CACongestionSetting { portControl = 1 })
                    fabric.set(host, CongestionControlTable { cctiLimit = 77 }, modifier = 1)
                    fabric.get<CACongestionSetting>(host).portControl shouldBe 1
                    fabric.get<CongestionControlTable>(host, 1).cctiLimit shouldBe 77
                    fabric.get<CongestionControlTable>(host, 0).cctiLimit shouldBe 0
                    fabric.get<CACongestionSetting>(simulation.pathTo("H-1")).portControl shouldBe 0

                    val switch = simulation.pathTo("S-1")
                    fabric.set(switch, SwitchCongestionSetting { markingRate = 9 })
                    fabric.get<SwitchCongestionSetting>(switch).markingRate shouldBe 9
                    fabric.get<SwitchPortCongestionSetting>(switch, 1)
                    fabric.get<CongestionInfo>(switch).controlTableCap shouldBe 2
                    fabric.get<CongestionLogSwitch>(switch).logType.value shouldBe 1
                    fabric.get<CongestionLogCA>(host).logType.value shouldBe 2
                }
            }
        }

        test("should forget the settings of a node that was without power") {
            small().test { simulation ->
                simulation.asker().use { fabric ->
                    val host = simulation.pathTo("H-2")
                    fabric.set(host, CongestionKeyInfo { ccKey = KEY })
                    simulation.powerOff("H-2")
                    simulation.powerOn("H-2")
                    simulation.sweep()
                    fabric.set(simulation.pathTo("H-2"), CACongestionSetting { portControl = 1 }).portControl shouldBe 1
                }
            }
        }

        test("should refuse what a node of the kind does not have, and blocks beyond the last") {
            small().test { simulation ->
                simulation.asker().use { fabric ->
                    val host = simulation.pathTo("H-2")
                    shouldThrow<MadStatusException> { fabric.get<SwitchCongestionSetting>(host) }.status shouldBe 0x0c
                    shouldThrow<MadStatusException> { fabric.get<CongestionControlTable>(host, 2) }.status shouldBe 0x1c
                    val switch = simulation.pathTo("S-1")
                    shouldThrow<MadStatusException> { fabric.get<CACongestionSetting>(switch) }.status shouldBe 0x0c
                    shouldThrow<MadStatusException> { fabric.get<SwitchPortCongestionSetting>(switch, 2) }
                }
            }
        }

        test("should leave without an answer who lacks the key, and count it") {
            small().test { simulation ->
                val host = simulation.pathTo("H-2")
                simulation.asker().use { stranger ->
                    stranger.set(host, CongestionKeyInfo { ccKey = KEY })
                    stranger.get<CongestionKeyInfo>(host).ccKey shouldBe 0
                    shouldThrow<MadTimeoutException> { stranger.set(host, CACongestionSetting { portControl = 1 }) }
                    simulation.asker(KEY).use { owner ->
                        owner.get<CongestionKeyInfo>(host).ccKeyViolations shouldBe 1
                        val guarded =
                            CongestionKeyInfo {
                                ccKey = KEY
                                ccKeyProtectBit = true
                            }
                        owner.set(host, guarded)
                        shouldThrow<MadTimeoutException> { stranger.get<CACongestionSetting>(host) }
                        owner.get<CongestionKeyInfo>(host).ccKey shouldBe KEY
                        owner.get<CongestionKeyInfo>(host).ccKeyViolations shouldBe 2
                    }
                }
            }
        }
    })
