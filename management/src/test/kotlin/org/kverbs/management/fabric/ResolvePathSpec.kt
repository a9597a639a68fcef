package org.kverbs.management.fabric

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.assertions.withClue
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.sa.SaPathNotFoundException
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo

class ResolvePathSpec :
    FunSpec({
        suspend fun onFabric(block: suspend (Fabric) -> Unit) =
            simulatedFabric {
                fatTree(4)
                subnetManager("H-3")
            }.use { simulation -> simulation.fabric("H-1").use { block(it) } }

        test("should find a port by its GUID in both forms, its GID, and its GID behind this port") {
            onFabric { fabric ->
                val node = fabric.get<NodeInfo>(directed(0, 1))
                val far = generateSequence(1) { it + 1 }.first { it != node.localPortNum }
                val host = fabric.get<NodeInfo>(directed(0, 1, far))
                val expected = fabric.get<PortInfo>(directed(0, 1, far), host.localPortNum).lid
                val guid = host.portGUID
                val gid = "fe80::${guid.toString().replace("0000", "0")}"
                val here = fabric.port().let { "${it.name}/${it.node.localPortNum}" }
                for (text in listOf("$guid", "$guid".replace(":", ""), gid, "$gid%$here", "$guid%$here")) {
                    withClue(text) { (fabric.resolve(text) as LidPath).destination shouldBe expected }
                }
            }
        }

        test("should read the forms that need no administrator") {
            onFabric { fabric ->
                for (text in listOf("0,1,4", "12", "DR Path (0, 1)", "Path 8 -> 9 SL=0 PKey=0xffff DQPN=1")) {
                    fabric.resolve(text) shouldBe MadPath.parse(text)
                }
                fabric.resolve("dlid=9 dgid=fe80::1") shouldBe MadPath.parse("dlid=9 dgid=fe80::1")
                fabric.resolve("0xc") shouldBe lid(12)
            }
        }

        test("should tell a port that nobody has from text that names none") {
            onFabric { fabric ->
                shouldThrow<SaPathNotFoundException> { fabric.resolve("fe80::77") }
                shouldThrow<IllegalArgumentException> { fabric.resolve("fe80::1%mlx5_9/1") }.message shouldContain
                    "the path begins at mlx5_9/1, and this fabric is behind H-1/1"
                val refused =
                    listOf(
                        "",
                        "xx",
                        "0:0:0",
                        "fe80::/",
                        "fe80::1x",
                        "Moo()",
                        "%",
                        "fe80::1%",
                        "12%H-1/1",
                        "a".repeat(2000),
                    )
                for (text in refused) {
                    withClue(text) { shouldThrow<IllegalArgumentException> { fabric.resolve(text) } }
                }
            }
        }
    })
