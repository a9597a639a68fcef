package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import io.kotest.matchers.string.shouldNotContain
import org.kverbs.management.path.directed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid
import kotlin.random.Random

/** What ibnetdiscover prints of a switch with two hosts, one with a port GUID of its own. */
private val printed =
    """
    #
    # Topology file: generated on Mon Nov 23 20:00:00 2026
    #
    # Initiated from node 0002c90300001490 port 0002c90300001491

    vendid=0x2c9
    devid=0xbd36
    sysimgguid=0x2c902004b3abb
    switchguid=0x2c902004b3ab8(2c902004b3ab8)
    Switch	36 "S-0002c902004b3ab8"		# "leaf; with # in it" enhanced port 0 lid 5 lmc 0
    [1]	"H-0002c90300001490"[1](2c90300001491) 		# "node-1 HCA-1" lid 4 4xHDR
    [36]	"H-0002c90300001494"[2](77) 		# "node-2 HCA-1" lid 7 1xSDR

    vendid=0x2c9
    devid=0x673c
    sysimgguid=0x2c90300001493
    caguid=0x2c90300001490
    Ca	2 "H-0002c90300001490"		# "node-1 HCA-1"
    [1](2c90300001491) 	"S-0002c902004b3ab8"[1]		# lid 4 lmc 0 "leaf; with # in it" lid 5 4xHDR

    caguid=0x2c90300001494
    Ca	2 "H-0002c90300001494"		# "node-2 HCA-1"
    [2](77) 	"S-0002c902004b3ab8"[36]		# lid 7 lmc 0 "leaf; with # in it" lid 5 1xSDR
    """.trimIndent()

private fun refusal(text: String) = shouldThrow<IllegalArgumentException> { simulatedFabric { netFile(text) } }.message

class NetFileSpec :
    FunSpec({
        test("should read what ibnetdiscover prints") {
            simulatedFabric { netFile(printed) }.use { simulation ->
                simulation.switches shouldContainExactly listOf("S-0002c902004b3ab8")
                simulation.fabric("node-2 HCA-1").use { fabric ->
                    fabric.port().info.lid shouldBe Lid(7)
                    fabric.port().node.portGUID shouldBe Guid(0x77)
                    fabric.port().info.linkWidthActive shouldBe LinkWidth.W1X
                    val switch = fabric.get<NodeInfo>(directed(0, 2))
                    switch.nodeGUID shouldBe Guid(0x2c902004b3ab8)
                    switch.systemImageGUID shouldBe Guid(0x2c902004b3abb)
                    switch.deviceID shouldBe 0xbd36
                    fabric.get<PortInfo>(directed(0, 2), 0).lid shouldBe Lid(5)
                    fabric.get<PortInfo>(directed(0, 2), 1).linkSpeedExtActive shouldBe LinkSpeedExt.HDR
                }
            }
        }

        test("should read the net file that it writes") {
            val simulation =
                simulatedFabric {
                    torus(3, 3, hosts = 2)
                    width(LinkWidth.W12X)
                    speed(SimulatedSpeed.NDR)
                    switch("S-x", 7)
                    router("R-1")
                    host("H-x", ports = 2, description = "with space")
                    link("S-x", 3, "R-1", 2)
                    link("S-x", 4, "H-x", 2, LinkWidth.W2X, SimulatedSpeed.FDR10)
                }
            val text = simulation.netFile()
            val copy = simulatedFabric { netFile(text) }
            copy.netFile() shouldBe text
            copy.routers shouldContainExactly listOf("R-1")
            "$copy" shouldBe "$simulation"
        }

        test("should name the line that is wrong") {
            refusal("Switch 300 \"S-1\"") shouldContain "line 1 of the net file: S-1 has 300 ports; give 1 to 254"
            refusal("Switch 3 \"S-1\"\n[4] \"S-2\"[1]") shouldContain "line 2 of the net file: S-1 has the ports 1 to 3"
            refusal("Switch 3 \"S-1\"\n[1] \"S-2\"[1]") shouldContain
                "line 2 of the net file: there is no port \"S-2\"[1]"
            refusal("Switch 3 \"S-1\"\n[1] \"S-1\"[1]") shouldContain "is linked with itself"
            refusal("Switch 3 \"S-1\"\n\nSwitch 3 \"S-1\"") shouldContain "line 3 of the net file: there are two nodes"
            refusal("Switch 2 \"S-1\"\n[1] \"S-2\"[1]\n\nSwitch 2 \"S-2\"\n[1] \"S-1\"[2]") shouldContain
                "is not linked"
            refusal("switchguid=nonsense") shouldContain "line 1 of the net file: \"nonsense\" is not a number"
            refusal("include \"/etc/passwd\"") shouldContain "not supported"
            refusal("Switch 2 nonsense") shouldContain "a node reads"
            refusal("width=77") shouldContain "give 0 to 31"
            refusal("Switch 2 \"S-1\"\n[1] \"S\u0007-2\"[1]")!! shouldNotContain "\u0007"
        }

        test("should make a fabric of any text, or refuse it with an IllegalArgumentException") {
            val random = Random(5)
            val file = simulatedFabric { fatTree(4) }.netFile()
            val pieces =
                listOf(
                    "[",
                    "]",
                    "\"",
                    "#",
                    "=",
                    "0x",
                    "lid ",
                    "999999999999",
                    "-1",
                    "Switch",
                    "Ca",
                    "\n",
                    "\u0000",
                    "w=0",
                )
            repeat(3000) { round ->
                val text = StringBuilder(if (round % 2 == 0) file else printed)
                repeat(random.nextInt(1, 6)) {
                    val at = random.nextInt(text.length)
                    when (random.nextInt(4)) {
                        0 -> text.insert(at, pieces.random(random))
                        1 -> text.deleteRange(at, minOf(text.length, at + random.nextInt(40)))
                        2 -> text.setCharAt(at, random.nextInt(32, 127).toChar())
                        else -> text.setLength(maxOf(1, at))
                    }
                }
                withClue(text) {
                    try {
                        simulatedFabric { netFile("$text") }.close()
                    } catch (_: IllegalArgumentException) {
                        // The text is none.
                    }
                }
            }
        }
    })
