package org.kverbs.management.subnet

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldNotBeEmpty
import io.kotest.matchers.ints.shouldBeLessThan
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.lid
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibnetdiscover
import kotlin.random.Random

/** Faults that are typed at ibsim's console, beside ibnetdiscover. */
class ConsoleFaultsSpec :
    FunSpec({
        fun sentence(
            name: String,
            net: Net,
            body: suspend (Fabric, Ibsim) -> Unit,
        ) = test(name).config(enabledOrReasonIf = { ibnetdiscover.presentOrSkipped }) {
            ibnetdiscover.require()
            Ibsim("$net").use { simulator ->
                fabric(IbsimTransport.connect(port = simulator.port, node = net.firstHost)) { retries(1) }
                    .use { withClue(net) { body(it, simulator) } }
            }
        }

        for (seed in 21..26) {
            val net = randomNet(seed)
            sentence("should find what ibnetdiscover finds while links are away and when they are back ($seed)", net) {
                fabric,
                simulator,
                ->
                val whole = fabric.discover()
                whole.problems.shouldBeEmpty()
                val random = Random(seed)
                val away = whole.links.filter { link -> link.ends.all { it.node.isSwitch } }.shuffled(random).take(2)
                val cut = (away + whole.links.shuffled(random).take(2)).map { it.a }.filterNot { it == whole.here }
                simulator.console(*cut.map { "Unlink ${it.inConsole()}" }.toTypedArray())
                val less = fabric.same(simulator, net)
                less.links.size shouldBeLessThan whole.links.size
                simulator.console(*cut.map { "ReLink ${it.inConsole()}" }.toTypedArray())
                fabric.same(simulator, net).links.size shouldBe whole.links.size
            }
        }

        sentence("should pass over a switch that answers no NodeInfo, and say so", twoLevels(12)) { fabric, simulator ->
            val whole = fabric.discover()
            val here = checkNotNull(whole.here)
            val first = checkNotNull(here.peer).node
            val deaf = whole.switches.first { it != first }
            simulator.console("Error ${deaf.inConsole()} 100 17")
            val rest = fabric.discover()
            rest.node(deaf.guid) shouldBe null
            rest.node(first.guid)?.name shouldBe first.name
            rest.problems.shouldNotBeEmpty()
            simulator.console("Error ${deaf.inConsole()} 0")
            fabric.discover().nodes.size shouldBe whole.nodes.size
        }

        sentence("should read the counters that were set, and what a port answers with an error", twoLevels(4)) {
            fabric,
            simulator,
            ->
            val here = checkNotNull(fabric.discover().here)
            val port = checkNotNull(here.peer)
            simulator.sweep(here.node.inConsole().trim('"'))
            simulator.console("PerformanceSet ${port.inConsole()} PortCounters.SymbolErrorCounter=77")
            val path = lid(checkNotNull(fabric.discover().node(port.node.guid)?.port(0)).lid)
            fabric.get<PortCounters>(path) { portSelect = port.number }.symbolErrorCounter shouldBe 77
            simulator.console("Error ${port.node.inConsole()} 100")
            shouldThrow<MadException> { fabric.get<PortCounters>(path) { portSelect = port.number } }
        }
    })

/** Discovers, and compares with ibnetdiscover. */
private suspend fun Fabric.same(
    simulator: Ibsim,
    net: Net,
): Subnet {
    val subnet = discover()
    subnet.problems.shouldBeEmpty()
    subnet.printed() shouldBe readFabric(simulator.tool(net.firstHost, "ibnetdiscover"))
    subnet.printedPorts() shouldBe oneSpaced(simulator.tool(net.firstHost, "ibnetdiscover", "-p"))
    return subnet
}

private fun SubnetNode.inConsole() = "\"${if (isSwitch) "S" else "H"}-${guid.value.toHexString()}\""

private fun SubnetPort.inConsole() = "${node.inConsole()}[$number]"
