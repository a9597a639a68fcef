package org.kverbs.management.subnet

import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.fabric
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibnetdiscover

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
            val subnet = fabric.discover { progress += it }
            subnet.problems.shouldBeEmpty()
            subnet.printed() shouldBe readFabric(simulator.tool(here, "ibnetdiscover"))
            subnet.printedList() shouldBe oneSpaced(simulator.tool(here, "ibnetdiscover", "-l"))
            subnet.printedPorts() shouldBe oneSpaced(simulator.tool(here, "ibnetdiscover", "-p"))
            check(subnet)
            progress.map { it.nodes } shouldBe (1..subnet.nodes.size).toList()
        }
    }
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
    })
