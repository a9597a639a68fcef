package org.kverbs.management

import io.kotest.assertions.throwables.shouldThrow
import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.Gid
import org.kverbs.management.structures.BMTrapDetails
import org.kverbs.management.structures.InformInfo
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.MADHeader
import org.kverbs.management.structures.MADHeaderDirected
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.Method
import org.kverbs.management.structures.MultiPathRecord
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.NoticeTrap64
import org.kverbs.management.structures.PathRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.management.structures.PortState
import org.kverbs.management.structures.ServiceRecord
import org.kverbs.management.structures.TrapDetails
import org.kverbs.management.structures.WellKnown
import org.kverbs.structures.Descriptions
import org.kverbs.structures.Lid
import org.kverbs.structures.RequestMethod
import org.kverbs.structures.dotted
import org.kverbs.structures.dump

private fun mad(
    mgmtClass: Int,
    version: Int,
    method: Int,
    attribute: Int,
) = MADHeader {
    this.mgmtClass = ManagementClass.of(mgmtClass)
    classVersion = version
    this.method = Method.of(method)
    attributeID = attribute
}.memory

class StructuresSpec :
    FunSpec({
        test("should be made by assignments") {
            val node =
                NodeInfo {
                    nodeType = NodeType.SWITCH
                    numPorts = 36
                }
            node.nodeType.toString() shouldBe "SWITCH(2)"
            node.bytes().take(4) shouldBe listOf<Byte>(0, 0, 2, 36)
        }

        test("should keep numbers without a name") {
            LinkWidth.of(0x40).toString() shouldBe "LinkWidth??(64)"
            (LinkWidth.W1X + LinkWidth.W4X).toString() shouldBe "W1X(1)|W4X(2)"
            LinkWidth.of(255).toString() shouldBe "ALL_SUPPORTED(255)"
            LinkSpeedExt.of(30).toString() shouldBe "DISABLED(30)"
            (LinkWidth.W4X in LinkWidth.of(3)) shouldBe true
            PortState.of(9).toString() shouldBe "PortState??(9)"
            PortInfo { portState = PortState.of(9) }.portState shouldBe PortState.of(9)
        }

        test("should set the component mask by assignment") {
            val first = PathRecord.query { dgid = Gid.parse("fe80::1") }
            first.mask.toString() shouldBe "0x4"
            val second =
                PathRecord.query {
                    dgid = Gid.parse("fe80::1")
                    dlid = Lid(4)
                }
            second.mask.value shouldBe 20L.shl(0)
            second.components shouldBe listOf("dgid", "dlid")
            PortInfoRecord.query { portInfo.lid = Lid(1) }.mask.toString() shouldBe "0x20"
            ServiceRecord.query { serviceData8[3] = 0 }.mask.toString() shouldBe "0x400"
            MultiPathRecord.query { sdgid[0] = Gid.parse("::1") }.mask.toString() shouldBe "0x0"
            InformInfo.description.components shouldBe emptyList()
        }

        test("should lead from the number of a trap to the structure of its details") {
            TrapDetails.of(64) shouldBe NoticeTrap64
            TrapDetails.of(1) shouldBe null
            BMTrapDetails.of(259)?.name shouldBe "BMNoticeTrap259"
            WellKnown.LID_PERMISSIVE shouldBe 0xffff
        }

        test("should tell of itself") {
            NodeInfo.attributeId shouldBe 0x11
            NodeInfo.methods shouldBe setOf(RequestMethod.GET)
            NodeInfo.attributes.single().toString() shouldBe "0x0011 of 0x01, 0x81 version 1: Get"
            NodeInfo.fields.first { it.name == "numPorts" }.toString() shouldBe "numPorts: uint, bits 24 to 31"
        }

        test("should print as infiniband-diags prints") {
            NodeInfo {
                nodeType = NodeType.SWITCH
                numPorts = 36
                deviceID = 0xcb20
            }.dotted().lines().filter { it.startsWith("N") || it.startsWith("Dev") } shouldBe
                listOf(
                    "NodeType:........................Switch",
                    "NumPorts:........................36",
                    "DevId:...........................0xcb20",
                )
            NodeInfo { nodeType = NodeType.CA }.dump().lines()[1] shouldBe
                "   0 00000100 baseVersion=0 classVersion=0 nodeType=CA(1) numPorts=0"
        }

        test("should describe what a datagram asks") {
            describe(mad(0x03, 2, 0x01, 0x35)) shouldBe "MAD_METHOD_GET(1) SAFormat(3.2) SAPathRecord(53)"
            describe(mad(0x81, 1, 0x81, 0x11)) shouldBe
                "MAD_METHOD_GET_RESP(129) SMPFormatDirected(129.1) SMPNodeInfo(17)"
            describe(mad(0x04, 1, 0x02, 0x12)) shouldBe "MAD_METHOD_SET(2) PMFormat(4.1) PMPortCounters(18)"
            describe(mad(0x07, 2, 0x03, 0x10)) shouldBe "MAD_METHOD_SEND(3) CMFormat(7.2) CMREQ(16)"
            describe(mad(0x0a, 1, 0x01, 0x17)) shouldBe "MAD_METHOD_GET(1) VendorFormat(10.1) VendorMlxGeneralInfo(23)"
            describe(mad(0x03, 2, 0x12, 0x19)) shouldBe
                "MAD_METHOD_GET_TABLE(18) SAFormat(3.2) SALinkSpeedWidthPairsTableRecord(25)"
        }

        test("should describe what it does not know by numbers") {
            describe(mad(0x03, 2, 0x44, 0x999)) shouldBe "MAD_METHOD_??(68) SAFormat(3.2) SA??(2457)"
            describe(mad(0x77, 9, 0x01, 1)) shouldBe "MAD_METHOD_GET(1) ??(119.9) ??(1)"
            shouldThrow<IllegalArgumentException> { describe(mad(1, 1, 1, 1).asSlice(0, 23)) }
        }

        test("should describe a program's vendor structures that it is told of") {
            val vendor =
                Descriptions.parse("structure Fan 8 of 0x0b version 1 {\n attribute 0x20 methods Get\n uint:8 speed\n}")
            val known = org.kverbs.management.structures.described + vendor
            describe(mad(0x0b, 1, 0x01, 0x20), known) shouldBe "MAD_METHOD_GET(1) VendorFormat(11.1) VendorFan(32)"
        }

        test("should read the status of a directed route packet beside its direction") {
            val header =
                MADHeaderDirected {
                    status = 0x1c
                    direction = true
                }
            header.bytes()[4] shouldBe 0x80.toByte()
            MADHeader.at(header.memory).status shouldBe 0x801c
        }
    })
