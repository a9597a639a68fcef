package org.kverbs.management.simulation

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.lid
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.MlxCounterGroupInfo
import org.kverbs.management.structures.MlxGeneralInfoExtended
import org.kverbs.management.structures.OpenIBCpuInfo
import org.kverbs.management.structures.OpenIBHostInfo
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.structures.OpenIBSysstatPing
import org.kverbs.management.transaction.MadStatusException
import org.kverbs.management.transaction.MadTransactor
import org.kverbs.management.transport.MAD_SIZE
import org.kverbs.structures.Guid
import kotlin.time.Duration.Companion.milliseconds

private const val BAD_CLASS = 0x04
private const val BAD_METHOD = 0x08
private const val BAD_ATTRIBUTE = 0x0c
private const val OUI_AT = 37

/** A host, a switch and a router. */
private fun three() =
    simulatedFabric {
        netFile(
            """
            Switch 4 "S-1" # "first switch"
            [1] "H-1"[1]

            vendid=0x2c9
            devid=0x1017
            Ca 1 "H-1"
            [1] "S-1"[1]
            """.trimIndent() + "\n",
        )
        router("R-1", guid = Guid(0x30))
        link("R-1", 1, "S-1", 2)
        subnetManager("S-1")
    }

private fun SimulatedFabric.pathTo(node: String) = port(node).use { lid(it.port().info.lid.value) }

/** The status of the answer to a request that is nothing but a header. */
private suspend fun SimulatedFabric.statusOf(
    to: LidPath,
    oui: Int = 0,
    header: MADHeader.() -> Unit,
): Int {
    val mad = ByteArray(MAD_SIZE)
    MADHeader.at(mad).apply {
        baseVersion = 1
        classVersion = 1
        method = Method.GET
        header()
    }
    repeat(3) { mad[OUI_AT + it] = (oui shr 8 * (2 - it)).toByte() }
    return MadTransactor(port("H-1")).use { transactor ->
        shouldThrow<MadStatusException> { transactor.transact(mad, to, 500.milliseconds, 0) }.status
    }
}

private suspend fun Fabric.hostOf(path: LidPath) = get<OpenIBPing>(path).hostName

class NodeAgentsSpec :
    FunSpec({
        test("should answer pings at each node with the node's name") {
            three().test { simulation ->
                simulation.fabric("H-1").use { fabric ->
                    fabric.hostOf(simulation.pathTo("H-1")) shouldBe "H-1"
                    fabric.hostOf(simulation.pathTo("S-1")) shouldBe "first switch"
                    fabric.hostOf(simulation.pathTo("R-1")) shouldBe "R-1"
                }
            }
        }

        test("should tell the name and the processor of a host, and send the data of a ping back") {
            three().test { simulation ->
                val host = simulation.pathTo("R-1")
                simulation.fabric("H-1").use { fabric ->
                    fabric.get<OpenIBHostInfo>(host).hostInfo shouldBe "R-1"
                    fabric.get<OpenIBCpuInfo>(host).cpuInfo shouldContain "cpu 0: model "
                    val sent = ByteArray(OpenIBSysstatPing.byteSize) { it.toByte() }
                    fabric.get<OpenIBSysstatPing>(host) { data = sent }.data shouldBe sent
                }
            }
        }

        test("should tell the device of a node by Mellanox's class, as NodeInfo does") {
            three().test { simulation ->
                simulation.fabric("S-1").use { fabric ->
                    val host = simulation.pathTo("H-1")
                    fabric.get<ClassPortInfo>(host, mgmtClass = ManagementClass.MELLANOX).baseVersion shouldBe 1
                    val info = fabric.get<MlxGeneralInfoExtended>(host)
                    info.deviceID shouldBe 0x1017
                    info.fwPSID shouldBe "KVERBS_SIM"
                    shouldThrow<MadStatusException> { fabric.get<MlxCounterGroupInfo>(host) }.status shouldBe
                        BAD_ATTRIBUTE
                }
            }
        }

        test("should leave a class to a program that serves it at the port") {
            three().test { simulation ->
                val host = simulation.pathTo("R-1")
                simulation.fabric("R-1").use { serving ->
                    simulation.fabric("H-1").use { fabric ->
                        val service =
                            serving.serve(ManagementClass.OPENIB_PING) { request ->
                                request.answer(OpenIBPing { hostName = "a program" })
                            }
                        fabric.hostOf(host) shouldBe "a program"
                        // Not of another class, and not after its end.
                        fabric.get<OpenIBHostInfo>(host).hostInfo shouldBe "R-1"
                        service.close()
                        fabric.hostOf(host) shouldBe "R-1"
                    }
                }
            }
        }

        test("should refuse a class, a vendor, a version, a method and an attribute that no node has") {
            three().test { simulation ->
                val host = simulation.pathTo("R-1")
                simulation.statusOf(host) { mgmtClass = ManagementClass.of(0x0b) } shouldBe BAD_CLASS
                simulation.statusOf(host) {
                    mgmtClass = ManagementClass.SUBN_ADM
                    method = Method.GET_TABLE
                } shouldBe BAD_CLASS
                simulation.statusOf(host, oui = 0x123456) { mgmtClass = ManagementClass.OPENIB_PING } shouldBe BAD_CLASS
                simulation.statusOf(host) {
                    mgmtClass = ManagementClass.MELLANOX
                    classVersion = 2
                } shouldBe BAD_CLASS
                simulation.statusOf(host) {
                    mgmtClass = ManagementClass.MELLANOX
                    method = Method.GET_TABLE
                } shouldBe BAD_METHOD
                simulation.statusOf(host, oui = 0x001405) {
                    mgmtClass = ManagementClass.OPENIB_SYSSTAT
                    attributeID = 0x77
                } shouldBe BAD_ATTRIBUTE
                simulation.statusOf(host) {
                    mgmtClass = ManagementClass.SUBN_LID_ROUTED
                    attributeID = 0x77
                } shouldBe BAD_ATTRIBUTE
                simulation.statusOf(host) {
                    mgmtClass = ManagementClass.SUBN_LID_ROUTED
                    attributeID = 0x77
                    method = Method.GET_TABLE
                } shouldBe BAD_METHOD
            }
        }

        test("should refuse what the program at a port does not serve") {
            three().test { simulation ->
                simulation.fabric("R-1").use {
                    simulation.statusOf(simulation.pathTo("R-1")) { mgmtClass = ManagementClass.of(0x0b) } shouldBe
                        BAD_CLASS
                }
            }
        }
    })
