package org.kverbs.management.subnet

import io.kotest.core.spec.style.FunSpec
import io.kotest.engine.spec.tempdir
import io.kotest.matchers.shouldBe
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.ibsim
import org.kverbs.structures.Guid
import org.kverbs.structures.copy
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.readText

private val net = checkNotNull(DocumentedSpec::class.java.getResource("/small.net")).readText()
private val page = Path.of(System.getProperty("kverbs.root"), "docs", "management.md").readText()

/** The block of text that follows [words] on the page. */
private fun shown(words: String) = page.substringAfter(words).substringAfter("```text\n").substringBefore("\n```")

/** The first program of the page's chapter. */
private suspend fun discovered(
    simulator: Int,
    println: (Any?) -> Unit,
) {
    fabric(IbsimTransport.connect(port = simulator, node = "second host")).use { fabric ->
        val subnet = fabric.discover()
        println(subnet)
        subnet.nodes.forEach { println("${it.path}: $it") }
        subnet.links.filter { it.isSlowerThanPossible || it.isNarrowerThanPossible }.forEach(println)
        subnet.problems.forEach(println)
        val there = subnet.node(Guid.parse("0002:c902:0000:0050"))
        val here = subnet.here?.node
        if (here != null && there != null) println(subnet.shortestRoute(here, there))
    }
}

/** The second program of the page's chapter. */
private suspend fun compared(
    fabric: Fabric,
    file: Path,
    println: (Any?) -> Unit,
) {
    val subnet = fabric.discover()
    if (file.exists()) println(loadSubnet(file).changesTo(subnet))
    subnet.save(file)
}

class DocumentedSpec :
    FunSpec({
        test("should print what docs/management.md shows of a discovery")
            .config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
                ibsim.require()
                val lines = mutableListOf<String>()
                Ibsim(net).use { simulator -> discovered(simulator.port) { lines += "$it" } }
                lines.joinToString("\n") shouldBe shown("the program prints of the subnet:")
            }

        test("should print what docs/management.md shows of two discoveries")
            .config(enabledOrReasonIf = { ibsim.presentOrSkipped }) {
                ibsim.require()
                val lines = mutableListOf<String>()
                val file = tempdir().toPath().resolve("subnet")
                Ibsim(net).use { simulator ->
                    fabric(IbsimTransport.connect(port = simulator.port, node = "second host")).use { fabric ->
                        compared(fabric, file) { lines += "$it" }
                        val leaf = loadSubnet(file).node(Guid.parse("0002:c902:0000:0040"))
                        val port =
                            checkNotNull(leaf?.port(3)?.info).copy {
                                portPhysicalState =
                                    PortPhysicalState.DISABLED
                            }
                        fabric.set<PortInfo>(checkNotNull(leaf).path, port, 3)
                        compared(fabric, file) { lines += "$it" }
                    }
                }
                lines.joinToString("\n") shouldBe shown("after the port of a host was disabled, it prints:")
            }
    })
