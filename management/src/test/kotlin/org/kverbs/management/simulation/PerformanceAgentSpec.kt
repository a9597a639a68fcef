package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.delay
import kotlinx.coroutines.test.runTest
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortExtendedSpeedsCounters
import org.kverbs.management.structures.PortExtendedSpeedsCountersRSFEC
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortRcvConCtrl
import org.kverbs.management.structures.PortRcvDataSL
import org.kverbs.management.structures.PortSLRcvBECN
import org.kverbs.management.structures.PortSLRcvFECN
import org.kverbs.management.structures.PortSamplesControl
import org.kverbs.management.structures.PortSamplesCounterSelect
import org.kverbs.management.structures.PortSamplesResult
import org.kverbs.management.structures.PortSamplesResultExtended
import org.kverbs.management.structures.PortVLXmitTimeCong
import org.kverbs.management.structures.PortXmitConCtrl
import org.kverbs.management.structures.PortXmitDataSL
import org.kverbs.management.structures.SwPortVLCongestion
import org.kverbs.management.transaction.MadStatusException
import kotlin.time.Duration.Companion.milliseconds

private val unknown = PortSamplesCounterSelect.of(0x4001)

private fun managed(configure: SimulatedFabricBuilder.() -> Unit = {}) =
    simulatedFabric {
        fatTree(4)
        subnetManager("H-1")
        configure()
    }

class PerformanceAgentSpec :
    FunSpec({
        test("should answer the counters of congestion and of service levels as a test has set them") {
            managed().test { simulation ->
                simulation.counters("S-1", 2, SwPortVLCongestion).swPortVLCongestion[15] = 0xffff
                simulation.counters("S-1", 2, PortRcvConCtrl).portPktRcvBECN = 7
                simulation.counters("S-1", 2, PortSLRcvFECN).portSLRcvFECN[3] = 8
                simulation.counters("S-1", 2, PortSLRcvBECN).portSLRcvBECN[4] = 9
                simulation.counters("S-1", 2, PortXmitConCtrl).portXmitTimeCong = 10
                simulation.counters("S-1", 2, PortVLXmitTimeCong).portVLXmitTimeCong[14] = 11
                simulation.counters("S-1", 2, PortXmitDataSL).portXmitDataSL[15] = 0xffff_ffffL
                simulation.counters("S-1", 2, PortRcvDataSL).portRcvDataSL[0] = 13
                simulation.fabric("H-1").use { fabric ->
                    val switch = lid(simulation.port("S-1").use { it.port().info.lid.value })
                    fabric.get<SwPortVLCongestion>(switch) { portSelect = 2 }.swPortVLCongestion[15] shouldBe 0xffff
                    fabric.get<PortRcvConCtrl>(switch) { portSelect = 2 }.portPktRcvBECN shouldBe 7
                    fabric.get<PortSLRcvFECN>(switch) { portSelect = 2 }.portSLRcvFECN[3] shouldBe 8
                    fabric.get<PortSLRcvBECN>(switch) { portSelect = 2 }.portSLRcvBECN[4] shouldBe 9
                    fabric.get<PortXmitConCtrl>(switch) { portSelect = 2 }.portXmitTimeCong shouldBe 10
                    fabric.get<PortVLXmitTimeCong>(switch) { portSelect = 2 }.portVLXmitTimeCong[14] shouldBe 11
                    fabric.get<PortXmitDataSL>(switch) { portSelect = 2 }.portXmitDataSL[15] shouldBe 0xffff_ffffL
                    fabric.get<PortRcvDataSL>(switch) { portSelect = 2 }.portRcvDataSL[0] shouldBe 13
                    // One counter of those that are selected is reset, and the others stay.
                    fabric.set(
                        switch,
                        PortSLRcvFECN {
                            portSelect = 2
                            counterSelect = 1 shl 3
                        },
                    )
                    fabric.get<PortSLRcvFECN>(switch) { portSelect = 2 }.portSLRcvFECN[3] shouldBe 0
                    fabric.get<PortSLRcvBECN>(switch) { portSelect = 2 }.portSLRcvBECN[4] shouldBe 9
                }
            }
        }

        test("should keep both structures of the counters of fast lanes in one place, and select them by 64 bits") {
            managed().test { simulation ->
                simulation.counters("H-1", 1, PortExtendedSpeedsCounters).errorDetectionCounterLane[11] = 21
                simulation.counters("H-1", 1, PortExtendedSpeedsCountersRSFEC).portFECCorrectedSymbolCtr = 22
                simulation.fabric("H-1").use { fabric ->
                    val own = lid(simulation.port("H-1").use { it.port().info.lid.value })
                    fabric
                        .get<PortExtendedSpeedsCounters>(
                            own,
                        ) { portSelect = 1 }
                        .errorDetectionCounterLane[11] shouldBe
                        21
                    fabric
                        .get<PortExtendedSpeedsCountersRSFEC>(
                            own,
                        ) { portSelect = 1 }
                        .portFECCorrectedSymbolCtr shouldBe
                        22
                    fabric.set(
                        own,
                        PortExtendedSpeedsCounters {
                            portSelect = 1
                            counterSelect = 1L shl 40
                        },
                    )
                    fabric
                        .get<PortExtendedSpeedsCounters>(
                            own,
                        ) { portSelect = 1 }
                        .errorDetectionCounterLane[11] shouldBe
                        21
                    fabric
                        .get<PortExtendedSpeedsCountersRSFEC>(
                            own,
                        ) { portSelect = 1 }
                        .portFECCorrectedSymbolCtr shouldBe
                        0
                }
            }
        }

        test("should name the attributes that have counters to set") {
            managed().test { simulation ->
                shouldThrow<IllegalArgumentException> { simulation.counters("S-1", 2, PortInfo) }.message shouldContain
                    "PortRcvDataSL"
            }
        }

        test("should count what is sampled, from the sample's start to its end, in virtual time") {
            runTest {
                managed { clock(backgroundScope) }.test { simulation ->
                    simulation.fabric("H-1").use { fabric ->
                        val switch = lid(simulation.port("S-1").use { it.port().info.lid.value })
                        val wanted =
                            PortSamplesControl {
                                portSelect = 1
                                tag = 0x1234
                                sampleStart = 1_000_000
                                sampleInterval = 2_000_000
                                counterSelect[0] = PortSamplesCounterSelect.PORT_XMIT_PKTS
                                counterSelect[1] = PortSamplesCounterSelect.PORT_RCV_DATA
                                counterSelect[14] = unknown
                            }
                        fabric.set(switch, wanted).sampleStatus shouldBe 1
                        repeat(5) { fabric.get<NodeInfo>(directed(0, 1)) }
                        delay(5.milliseconds)
                        fabric.get<PortSamplesControl>(switch) { portSelect = 1 }.sampleStatus shouldBe 2
                        repeat(10) { fabric.get<NodeInfo>(directed(0, 1)) }
                        withClue("a sample that runs is not disturbed") {
                            fabric.set(switch, PortSamplesControl { portSelect = 2 }).counterSelect[0] shouldBe
                                PortSamplesCounterSelect.PORT_XMIT_PKTS
                        }
                        fabric.get<PortSamplesResult>(switch).sampleStatus shouldBe 2
                        delay(8.milliseconds)
                        repeat(100) { fabric.get<NodeInfo>(directed(0, 1)) }
                        val result = fabric.get<PortSamplesResult>(switch)
                        result.tag shouldBe 0x1234
                        result.sampleStatus shouldBe 0
                        // Ten questions about the node, and three about the sample.
                        result.counter[0] shouldBe 13
                        result.counter[1] shouldBe 13 * 72
                        result.counter[14] shouldBe 0
                        val long = fabric.get<PortSamplesResultExtended>(switch)
                        long.counter[0] shouldBe result.counter[0]
                        long.extendedWidth shouldBe 2
                    }
                }
            }
        }

        test("should show of a counter that has passed 32 bits the highest value, and all of it in the long result") {
            runTest {
                managed { clock(backgroundScope) }.test { simulation ->
                    simulation.fabric("H-1").use { fabric ->
                        val switch = lid(simulation.port("S-1").use { it.port().info.lid.value })
                        val wanted =
                            PortSamplesControl {
                                portSelect = 3
                                sampleInterval = 250
                                counterSelect[0] = PortSamplesCounterSelect.PORT_XMIT_DATA
                            }
                        fabric.set(switch, wanted)
                        simulation.counters("S-1", 3).portXmitData += 0x1_0000_0000L
                        delay(2.milliseconds)
                        fabric.get<PortSamplesResult>(switch).counter[0] shouldBe 0xffff_ffffL
                        fabric.get<PortSamplesResultExtended>(switch).counter[0] shouldBeGreaterThan 0xffff_ffffL
                    }
                }
            }
        }

        test("should refuse a sampler that the node does not have, and a port of another one") {
            managed().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val own = lid(simulation.port("H-1").use { it.port().info.lid.value })
                    shouldThrow<MadStatusException> { fabric.get<PortSamplesControl>(own) { portSelect = 2 } }
                    shouldThrow<MadStatusException> { fabric.get<PortSamplesResult>(own, 1) }
                    fabric.get<PortSamplesControl>(own) { portSelect = 1 }.sampleMechanisms shouldBe 1
                }
            }
        }
    })
