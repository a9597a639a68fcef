package org.kverbs.management.subnet

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.longs.shouldBeGreaterThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.fabric
import org.kverbs.management.transaction.MadEventKind
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.UdpRelay
import org.kverbs.management.transport.ibnetdiscover
import org.kverbs.management.transport.opensm
import java.util.concurrent.TimeUnit
import kotlin.time.Duration.Companion.milliseconds

class PoorWireSpec :
    FunSpec({
        for (seed in 1..3) {
            test("should find all over a wire that loses, doubles and delays (seed $seed)")
                .config(enabledOrReasonIf = { ibnetdiscover.presentOrSkipped }) {
                    ibnetdiscover.require()
                    val net = twoLevels(108)
                    Ibsim("$net", *bigFabric).use { simulator ->
                        val poor = UdpRelay(simulator.port, seed, lossPercent = 3, doublePercent = 5, delayMillis = 5)
                        poor.use { relay ->
                            val transport = IbsimTransport.connect(port = relay.port, node = net.firstHost)
                            fabric(transport) {
                                timeout(100.milliseconds)
                                retries(20)
                            }.use { fabric ->
                                val subnet = fabric.discover()
                                subnet.problems.shouldBeEmpty()
                                subnet.printed() shouldBe readFabric(simulator.tool(net.firstHost, "ibnetdiscover"))
                                fabric.counters[MadEventKind.RETRIED] shouldBeGreaterThan 0
                                fabric.counters[MadEventKind.LATE] shouldBeGreaterThan 0
                                fabric.counters.outstanding shouldBe 0
                            }
                        }
                    }
                }
        }

        test("should find all while opensm is killed that sets up the fabric")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                opensm.require()
                val net = twoLevels(1008)
                Ibsim("$net", *bigFabric).use { simulator ->
                    fabric(IbsimTransport.connect(port = simulator.port, node = net.firstHost)).use { fabric ->
                        val manager = simulator.opensm(net.firstHost)
                        val subnet = fabric.discover { if (it.nodes == 200) manager.destroyForcibly() }
                        manager.waitFor(1, TimeUnit.MINUTES) shouldBe true
                        subnet.problems.shouldBeEmpty()
                        subnet.nodes.size shouldBe net.size
                        subnet.links.size shouldBe net.links
                    }
                }
            }
    })
