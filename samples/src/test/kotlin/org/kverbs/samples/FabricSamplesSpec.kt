package org.kverbs.samples

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.collections.shouldHaveSize
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.async
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.launch
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.simulation.test
import org.kverbs.management.subnet.discover
import kotlin.time.Duration.Companion.milliseconds

/** The programs that ask a fabric, on simulated ones. */
class FabricSamplesSpec :
    FunSpec({
        timeout = 120_000

        test("should draw each node and each link once, whatever a node calls itself") {
            simulatedFabric {
                switch("S-1", ports = 4)
                host("H-1")
                host("H-2", description = "a \\ of H-2")
                link("S-1", 1, "H-1", 1)
                link("S-1", 2, "H-2", 1)
            }.test { simulation ->
                val graph = simulation.fabric("H-1").use { it.discover().toDot() }
                graph.lines().filter { " -- " in it } shouldHaveSize 2
                graph.lines().filter { "shape=box" in it } shouldHaveSize 1
                graph shouldContain """label="a \\ of H-2"]"""
            }
        }

        test("should tell the rates of all linked ports") {
            simulatedFabric {
                fatTree(4, hosts = 3)
                subnetManager()
            }.test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    coroutineScope {
                        val carrying =
                            launch {
                                while (true) {
                                    simulation.counters("H-2", 1).portXmitData += 100_000
                                    delay(1.milliseconds)
                                }
                            }
                        // The questions are traffic, too, but the host sends far more.
                        val rates = fabric.portRates(100.milliseconds).first { all -> all.any { it.sent > 200_000 } }
                        rates.map { it.port.node.name } shouldContain "H-3"
                        rates.maxBy { it.sent }.port.node.name shouldBe "H-2"
                        carrying.cancelAndJoin()
                    }
                }
            }
        }

        test("should tell which host lost its cable") {
            simulatedFabric {
                fatTree(4, hosts = 3)
                subnetManager("H-1")
            }.test { simulation ->
                simulation.fabric("H-3").use { fabric ->
                    coroutineScope {
                        val change = async { fabric.changes().first() }
                        // Pulled until the program, which begins with a discovery, has heard of it.
                        while (!change.isCompleted) {
                            simulation.unplug("H-2", 1)
                            delay(50.milliseconds)
                            if (!change.isCompleted) simulation.plug("H-2", 1)
                            delay(50.milliseconds)
                        }
                        "${change.await()}" shouldContain "\"H-2\""
                    }
                }
            }
        }
    })
