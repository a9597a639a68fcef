package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContain
import io.kotest.matchers.ints.shouldBeInRange
import io.kotest.matchers.shouldBe
import kotlinx.coroutines.Job
import kotlinx.coroutines.delay
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.simulation.test
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibnetdiscover
import java.lang.ref.WeakReference

/** Compares a discovery with the three forms of ibnetdiscover's output. */
private suspend fun compare(
    net: Net,
    vararg options: String,
    check: (Subnet) -> Unit = {},
) {
    ibnetdiscover.require()
    val here = net.firstHost
    Ibsim("$net", *options).use { simulator ->
        fabric(IbsimTransport.connect(port = simulator.port, node = here)).use { fabric ->
            val progress = mutableListOf<DiscoveryProgress>()
            val threads = mutableSetOf<Thread>()
            val subnet =
                fabric.discover {
                    progress += it
                    threads += Thread.currentThread()
                }
            // Not the transport's, which nothing of a user may keep waiting.
            threads shouldBe setOf(Thread.currentThread())
            subnet.problems.shouldBeEmpty()
            subnet.printed() shouldBe readFabric(simulator.tool(here, "ibnetdiscover"))
            subnet.printedList() shouldBe oneSpaced(simulator.tool(here, "ibnetdiscover", "-l"))
            subnet.printedPorts() shouldBe oneSpaced(simulator.tool(here, "ibnetdiscover", "-p"))
            check(subnet)
            progress.map { it.nodes } shouldBe (1..subnet.nodes.size).toList()
        }
    }
}

/** Discovers a fabric, which fails. Returns what the discovery held. */
private suspend fun fail(
    fabric: Fabric,
    stop: Job,
): WeakReference<Any> {
    val held = Any()
    shouldThrow<IllegalStateException> {
        fabric.discover(DEFAULT_MAX_NODES, DEFAULT_MAX_PORTS, stop) { check(it.nodes < 3) { "planted, with $held" } }
    }
    return WeakReference(held)
}

class DiscoverySpec :
    FunSpec({
        for (hosts in listOf(4, 108, 1008)) {
            test("should find in a fabric of $hosts hosts what ibnetdiscover finds")
                .config(enabledOrReasonIf = { ibnetdiscover.presentOrSkipped }) {
                    val net = twoLevels(hosts)
                    compare(net, *bigFabric) { subnet ->
                        subnet.nodes.size shouldBe net.size
                        subnet.links.size shouldBe net.links
                    }
                }
        }

        for (seed in 1..8) {
            test("should find in a fabric of chance what ibnetdiscover finds (seed $seed)")
                .config(enabledOrReasonIf = { ibnetdiscover.presentOrSkipped }) {
                    val net = randomNet(seed)
                    withClue(net) { compare(net) }
                }
        }

        test("should return what it found when it is stopped, and say so") {
            simulatedFabric {
                hosts(108)
                subnetManager()
            }.test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    for (discover in listOf(Fabric::discover, Fabric::discoverByLid)) {
                        val stop = Job()
                        val subnet =
                            discover(fabric, DEFAULT_MAX_NODES, DEFAULT_MAX_PORTS, stop) {
                                if (it.nodes == 5) stop.complete()
                            }
                        subnet.nodes.size shouldBeInRange 1..100
                        // What was only seen and not read is left out.
                        for (node in subnet.nodes - setOfNotNull(subnet.here?.node)) {
                            withClue("$node") { node.ports.any { it.lid.isUnicast } shouldBe true }
                        }
                        subnet.problems.map { it.kind } shouldContain SubnetProblemKind.STOPPED
                    }
                }
            }
        }

        test("should leave nothing at the job that can stop it when it fails") {
            simulatedFabric { hosts(4) }.test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val stop = Job()
                    val failed = fail(fabric, stop)
                    repeat(100) {
                        System.gc()
                        if (failed.get() != null) delay(20)
                    }
                    failed.get() shouldBe null
                    stop.isActive shouldBe true
                }
            }
        }

        test("should say nothing of a stop that comes when all is found") {
            simulatedFabric { hosts(4) }.test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    val stop = Job()
                    fabric.discover(stop = stop).problems.shouldBeEmpty()
                    stop.complete()
                }
            }
        }
    })
