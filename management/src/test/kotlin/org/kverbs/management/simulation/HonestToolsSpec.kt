package org.kverbs.management.simulation

import io.kotest.assertions.nondeterministic.eventually
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.Tool
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.discover
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimPrograms
import org.kverbs.management.transport.ibnetdiscover
import org.kverbs.management.transport.opensm
import org.kverbs.structures.Lid
import kotlin.time.Duration.Companion.seconds

private const val HERE = "H-0002c90200000030"
private const val MANAGER = "H-0002c90200000020"
private val small = checkNotNull(HonestySpec::class.java.getResource("/small.net")).readText()

/** After opensm has swept small.net, with LIDs 1 to 5. */
private val commands =
    listOf(
        "iblinkinfo",
        "ibnetdiscover",
        "ibnetdiscover -p",
        "ibnetdiscover -l",
        "ibhosts",
        "ibswitches",
        "ibroute 2",
        "ibroute -M 2",
        "dump_fts",
        "ibtracert 1 4",
        "smpquery nodeinfo 3",
        "smpquery nodedesc 4",
        "smpquery portinfo 3 1",
        "smpquery portinfo 4 1",
        "smpquery -D portinfo 0,1 1",
        "smpquery switchinfo 2",
        "smpquery pkeys 1",
        "smpquery sl2vl 2 1",
        "smpquery vlarb 2 1",
        "smpquery guidinfo 1",
        "ibportstate -D 0,1 2 query",
        "ibidsverify",
        "ibaddr",
        "ibstat",
    )

/**
 * The fields that ibsim does not keep as opensm sets them, or knows no value of: see [HonestySpec]. Comments have the
 * time.
 */
private val unlike =
    listOf(
        "#",
        "Mkey",
        "LinkWidthEnabled",
        "LinkSpeedEnabled",
        "SubnetTimeout",
        "LinearFdbCap",
        "HoqLife",
        "VLHighLimit",
    )

private fun told(text: String) = text.lines().filterNot { line -> unlike.any { line.startsWith(it) } }

/** What a program says, be it that it failed. */
private fun said(
    programs: IbsimPrograms,
    words: Array<String>,
) = told(runCatching { programs.tool(HERE, *words) }.getOrElse { "${it.message}" })

/** How many nodes with the LID of "third host" the subnet manager knows. */
private suspend fun records(fabric: Fabric) = fabric.sa.records<NodeRecord> { lid = Lid(5) }.size

/** Programs written in C say the same of a simulated fabric, which is served to them, as of ibsim's. */
class HonestToolsSpec :
    FunSpec({
        suspend fun both(
            net: String,
            body: suspend (theirs: IbsimPrograms, ours: IbsimPrograms, simulation: SimulatedFabric) -> Unit,
        ) {
            Ibsim(net).use { theirs ->
                simulatedFabric { netFile(net) }.use { simulation ->
                    IbsimPrograms(simulation.serveIbsim().port).use { ours -> body(theirs, ours, simulation) }
                }
            }
        }

        fun sentence(
            name: String,
            tool: Tool,
            body: suspend () -> Unit,
        ) = test(name).config(enabledOrReasonIf = { tool.presentOrSkipped }) {
            tool.require()
            body()
        }

        for ((name, here) in mapOf("small.net" to HERE, "108 hosts" to "H-1")) {
            sentence("should be discovered by ibnetdiscover as ibsim's fabric, of $name", ibnetdiscover) {
                val net = if (here == HERE) small else simulatedFabric { hosts(108) }.netFile()
                both(net) { theirs, ours, _ ->
                    told(ours.tool(here, "ibnetdiscover")) shouldBe told(theirs.tool(here, "ibnetdiscover"))
                }
            }
        }

        sentence("should be swept by opensm, and look to all tools as ibsim's fabric then", opensm) {
            both(small) { theirs, ours, simulation ->
                theirs.sweep(MANAGER)
                ours.sweep(MANAGER)
                for (command in commands) {
                    val words = command.split(" ").toTypedArray()
                    withClue(command) { said(ours, words) shouldBe said(theirs, words) }
                }
                simulation.fabric(HERE).use { it.get<NodeDescription>(lid(5)).nodeString } shouldBe "third host"
            }
        }

        sentence("should be routed by opensm, so that each of 108 hosts reaches each other", opensm) {
            val net = simulatedFabric { hosts(108) }.netFile()
            simulatedFabric { netFile(net) }.test { simulation ->
                IbsimPrograms(simulation.serveIbsim().port).use { programs ->
                    val guid = simulation.port("H-1").use { it.port().node.portGUID }
                    programs.sweep("H-1", "0x${guid.value.toString(16)}")
                }
                for (host in listOf("H-1", "H-50", "H-108")) {
                    simulation.fabric(host).use { fabric ->
                        fabric.port().info.portState shouldBe PortState.ACTIVE
                        val subnet = fabric.discover()
                        subnet.problems shouldBe emptyList()
                        for (node in subnet.nodes) {
                            val at = checkNotNull(node.ports.mapNotNull { it.info?.lid }.firstOrNull { it.isUnicast })
                            fabric.get<NodeDescription>(lid(at.value)).nodeString shouldBe node.name
                        }
                    }
                }
            }
        }

        sentence("should send opensm the trap of a link that went, and be swept again", opensm) {
            simulatedFabric { netFile(small) }.test { simulation ->
                IbsimPrograms(simulation.serveIbsim().port).use { programs ->
                    val manager = programs.opensm(MANAGER, "-s", "0")
                    try {
                        simulation.fabric(HERE).use { fabric ->
                            eventually(60.seconds) { fabric.port().info.portState shouldBe PortState.ACTIVE }
                            eventually(60.seconds) { records(fabric) shouldBe 1 }
                            simulation.unplug("S-0002c90200000040", 3)
                            eventually(60.seconds) { records(fabric) shouldBe 0 }
                        }
                    } finally {
                        manager.destroy()
                        manager.waitFor()
                    }
                }
            }
        }

        sentence("should count for perfquery and ibqueryerrors what a test has written", opensm) {
            simulatedFabric {
                netFile(small)
                subnetManager(MANAGER)
            }.test { simulation ->
                simulation.counters(MANAGER, 1).symbolErrorCounter = 12
                IbsimPrograms(simulation.serveIbsim().port).use { programs ->
                    programs.tool(HERE, "perfquery", "1", "1") shouldContain "SymbolErrorCounter:..............12"
                    programs.tool(HERE, "perfquery", "-R", "1", "1")
                    simulation.counters(MANAGER, 1).symbolErrorCounter shouldBe 0
                }
            }
        }

        sentence("should answer saquery by its own administrator", opensm) {
            simulatedFabric {
                netFile(small)
                subnetManager(MANAGER)
            }.test { simulation ->
                IbsimPrograms(simulation.serveIbsim().port).use { programs ->
                    programs.tool(HERE, "sminfo") shouldContain "sm lid 1 sm guid 0x2c90200000021"
                    programs.tool(HERE, "sminfo") shouldContain "state 3 SMINFO_MASTER"
                    programs.tool(HERE, "saquery", "NR", "1") shouldContain "NodeDescription.........first host"
                    val path = programs.tool(HERE, "saquery", "-p", "--src-to-dst", "1:2")
                    path shouldContain "dgid....................fe80::2:c902:0:10"
                    path shouldContain "dlid....................2"
                }
            }
        }
    })
