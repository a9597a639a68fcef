package org.kverbs.management.sa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortState
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.discover
import org.kverbs.management.subnet.discoverBySa
import org.kverbs.management.subnet.portsWithoutKeys
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.Ibsim
import org.kverbs.management.transport.IbsimTransport
import org.kverbs.management.transport.opensm

private const val HERE = "H-0002c90200000030"
private const val MANAGER = "H-0002c90200000020"
private val net = checkNotNull(OpensmSpec::class.java.getResource("/small.net")).readText()
private const val PREFIX = -0x0180000000000000L

/** Waits until opensm has set up the subnet and knows this port. */
private fun isUp(fabric: Fabric) =
    fabric.port().info.let { it.masterSMLID.isUnicast && it.portState == PortState.ACTIVE }

/** Whether opensm has brought all links up: it does so last. */
private suspend fun allUp(fabric: Fabric) =
    isUp(fabric) && fabric.discover().links.all { link -> link.ends.all { it.state == PortState.ACTIVE } }

/** Of a port without a link opensm keeps the state alone, and of lanes nothing if it does not set them up (`-Q`). */
private fun isOfOpensm(difference: String) =
    "is recorded as Success(PKeyTable(pKeyBlock=[0, 0, " in difference ||
        difference.startsWith("SLtoVLMappingTable") || difference.startsWith("VLArbitrationTable") ||
        (difference.startsWith("PortInfo") && "portState=DOWN" in difference)

private fun upPorts(of: Subnet) = portsWithoutKeys(of).filter { "portState=DOWN" !in it }

class OpensmSpec :
    FunSpec({
        test("should ask opensm for a path and a record")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                opensm.require()
                Ibsim(net).use { simulator ->
                    val manager = simulator.opensm(MANAGER)
                    try {
                        fabric(IbsimTransport.connect(port = simulator.port, node = HERE)).use { fabric ->
                            check(
                                (1..500).any { isUp(fabric) || Thread.sleep(20).let { false } },
                            ) { "opensm is not up" }
                            val far = Gid(PREFIX, 0x0002c90200000021)
                            val here = fabric.port().info.lid
                            val path = fabric.sa.path(far)
                            "${path.path}" shouldBe "Path $here -> 1 SL=0 PKey=0xffff DQPN=1"
                            path.mtu shouldBe MTU.MTU_2048
                            val node = fabric.sa.get<NodeRecord> { lid = path.path.destination }
                            node.nodeDescription.nodeString shouldBe "first host"
                            node.nodeInfo.nodeType shouldBe NodeType.CA
                            shouldThrow<SaPathNotFoundException> { fabric.sa.path(Gid(PREFIX, 12345)) }
                        }
                    } finally {
                        manager.destroy()
                        manager.waitFor()
                    }
                }
            }

        test("should know of opensm's records what the nodes say, and find the same fabric by them")
            .config(enabledOrReasonIf = { opensm.presentOrSkipped }) {
                opensm.require()
                Ibsim(net).use { simulator ->
                    val manager = simulator.opensm(MANAGER)
                    try {
                        val transport = IbsimTransport.connect(port = simulator.port, node = HERE)
                        // It shows partition keys to trusted programs alone.
                        fabric(transport) { saKey(1) }.use { fabric ->
                            check(
                                (1..500).any { allUp(fabric) || Thread.sleep(20).let { false } },
                            ) { "no ports are up" }
                            val subnet = fabric.discover()
                            val comparison = Comparison(fabric, fabric.byRecords())
                            for (node in subnet.nodes) {
                                comparison.node(node, node.path)
                                comparison.node(node, LidPath(node.ports.first().lid))
                            }
                            comparison.differences.filterNot(::isOfOpensm).joinToString("\n").take(2000) shouldBe ""
                            // Under ibsim nothing cuts opensm's long messages into segments.
                            shouldThrow<MadException> { fabric.discoverBySa() }
                            val recorded = fabric.byRecords().discover()
                            recorded.problems.shouldBeEmpty()
                            recorded.links.map { "$it" } shouldBe subnet.links.map { "$it" }
                            upPorts(recorded) shouldBe upPorts(subnet)
                        }
                    } finally {
                        manager.destroy()
                        manager.waitFor()
                    }
                }
            }
    })
