package org.kverbs.management.sa

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.fabric.fabric
import org.kverbs.management.structures.MTU
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortState
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
    })
