package org.kverbs.management.fabric

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldContain
import kotlinx.coroutines.test.runTest
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.simulation.simulatedFabric
import org.kverbs.management.simulation.test
import org.kverbs.management.structures.CCFormat
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.CongestionInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.OpenIBCpuInfo
import org.kverbs.management.structures.OpenIBPing
import org.kverbs.management.structures.PMFormat
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.SMPFormat
import org.kverbs.management.structures.SMPFormatDirected
import org.kverbs.management.structures.VendorOUIFormat
import org.kverbs.management.transaction.DATA
import org.kverbs.management.transaction.FaultyTransport
import org.kverbs.management.transaction.answerTo
import kotlin.time.Duration.Companion.milliseconds

private fun answering() =
    FaultyTransport { request ->
        deliver(request.copyOf().also { SMPFormat.at(it).madHeader.method = Method.GET_RESP })
    }

class FabricSpec :
    FunSpec({
        test("should write path, key, modifier and the length of a directed route into a request") {
            runTest {
                val transport = FaultyTransport { deliver(answerTo(it)) }
                fabric(transport) { mKey(77) }.get<PortInfo>(directed(0, 1, 4), 3)
                SMPFormatDirected.at(transport.sent.single()).apply {
                    mKey shouldBe 77
                    madHeader.baseVersion shouldBe 1
                    madHeader.mgmtClass shouldBe ManagementClass.SUBN_DIRECTED_ROUTE
                    madHeader.method shouldBe Method.GET
                    madHeader.attributeID shouldBe 0x15
                    madHeader.attributeModifier shouldBe 3L
                    madHeader.hopCount shouldBe 2
                    listOf(initialPath[0], initialPath[1], initialPath[2]) shouldContainExactly listOf(0, 1, 4)
                    drSLID.value shouldBe 0xffff
                    drDLID.value shouldBe 0xffff
                }
            }
        }

        test("should ask by LID in the class of the attribute, with the fields that were assigned") {
            runTest {
                val transport = answering()
                val asked = fabric(transport) { mKey(77) }
                asked.get<PortCounters>(lid(12)) { portSelect = 3 }.portSelect shouldBe 3
                PMFormat.at(transport.sent.single()).madHeader.mgmtClass shouldBe ManagementClass.PERF
                PortCounters.at(transport.sent.single(), DATA).portSelect shouldBe 3
                asked.get<NodeInfo>(lid(12))
                SMPFormat.at(transport.sent.last()).apply {
                    madHeader.mgmtClass shouldBe ManagementClass.SUBN_LID_ROUTED
                    mKey shouldBe 77
                }
            }
        }

        test("should set an attribute to the value that it is given") {
            runTest {
                val transport = answering()
                fabric(transport).set(lid(12), NodeDescription { nodeString = "leaf" }).nodeString shouldBe "leaf"
                SMPFormat.at(transport.sent.single()).madHeader.method shouldBe Method.SET
            }
        }

        test("should refuse a path that the attribute's class does not take") {
            runTest {
                shouldThrow<IllegalArgumentException> { fabric(answering()).get<PortCounters>(directed(0)) }
                    .message shouldContain "PortCounters cannot be asked for by DR Path (0): it belongs to PERF(4)"
            }
        }

        test("should ask for the class of an attribute that several have") {
            runTest {
                val transport = answering()
                val asked = fabric(transport)
                shouldThrow<IllegalArgumentException> { asked.get<ClassPortInfo>(lid(12)) }.message shouldContain
                    "give one of them as mgmtClass"
                asked.get<ClassPortInfo>(lid(12), mgmtClass = ManagementClass.PERF)
                PMFormat.at(transport.sent.single()).madHeader.mgmtClass shouldBe ManagementClass.PERF
            }
        }

        test("should name OpenIB in its own classes, and another vendor if one is given") {
            runTest {
                for ((given, named) in mapOf(null to 0x001405, 0xabcdef to 0xabcdef)) {
                    val transport = answering()
                    fabric(transport) { if (given != null) vendor(given) }.get<OpenIBPing>(lid(12))
                    VendorOUIFormat.at(transport.sent.single()).oui shouldBe named
                }
            }
        }

        test("should give requests of congestion control their key") {
            runTest {
                val transport = answering()
                fabric(transport) { ccKey(77) }.get<CongestionInfo>(lid(12))
                CCFormat.at(transport.sent.single()).ccKey shouldBe 77
            }
        }

        test("should return an attribute that is longer than its structure as a whole") {
            val text = ByteArray(1000) { 'x'.code.toByte() }
            simulatedFabric {
                hosts(2)
                subnetManager()
            }.test { simulation ->
                val server = simulation.fabric("H-2")
                val path = LidPath(server.port().info.lid)
                server.use { it ->
                    it.serve(ManagementClass.OPENIB_SYSSTAT) { request -> request.answerLong(text) }
                    simulation.fabric("H-1").use { it.getLong(OpenIBCpuInfo, path).copyOf(1000) shouldBe text }
                }
            }
        }

        test("should refuse settings without sense") {
            shouldThrow<IllegalArgumentException> { fabric(answering()) { vendor(0x1000000) } }.message shouldContain
                "the vendor 0x1000000 is out of range"
            shouldThrow<IllegalArgumentException> { fabric(answering()) { timeout((-1).milliseconds) } }
            shouldThrow<IllegalArgumentException> { fabric(answering()) { retries(-1) } }
            shouldThrow<IllegalArgumentException> { fabric(answering()) { outstanding(0) } }
        }
    })
