package org.kverbs.attributes

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.IbvPortAttr
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_SHORT
import java.util.EnumSet

private fun structure(size: Int = IbvPortAttr.SIZE) = MemorySegment.ofArray(IntArray(size / Int.SIZE_BYTES))

private fun withByte(
    offset: Int,
    value: Int,
) = structure().also { it.set(JAVA_BYTE, offset.toLong(), value.toByte()) }

/** The port of a ConnectX-6 on InfiniBand. */
private fun infiniBandPort() =
    structure().also { s ->
        val ints =
            mapOf(
                IbvPortAttr.STATE to 4,
                IbvPortAttr.MAX_MTU to 5,
                IbvPortAttr.ACTIVE_MTU to 3,
                IbvPortAttr.GID_TBL_LEN to 8,
                IbvPortAttr.PORT_CAP_FLAGS to 0x80000002.toInt(),
                IbvPortAttr.MAX_MSG_SZ to 0x80000000.toInt(),
                IbvPortAttr.BAD_PKEY_CNTR to -1,
                IbvPortAttr.QKEY_VIOL_CNTR to 7,
            )
        ints.forEach { (offset, value) -> s.set(JAVA_INT, offset.toLong(), value) }
        val shorts =
            mapOf(
                IbvPortAttr.PKEY_TBL_LEN to 128,
                IbvPortAttr.LID to 0xbfff,
                IbvPortAttr.SM_LID to 17,
                IbvPortAttr.PORT_CAP_FLAGS2 to 0x8020,
            )
        shorts.forEach { (offset, value) -> s.set(JAVA_SHORT, offset.toLong(), value.toShort()) }
        val bytes =
            mapOf(
                IbvPortAttr.LMC to 3,
                IbvPortAttr.MAX_VL_NUM to 4,
                IbvPortAttr.SM_SL to 9,
                IbvPortAttr.SUBNET_TIMEOUT to 18,
                IbvPortAttr.INIT_TYPE_REPLY to 6,
                IbvPortAttr.ACTIVE_WIDTH to 2,
                IbvPortAttr.ACTIVE_SPEED to 64,
                IbvPortAttr.PHYS_STATE to 5,
                IbvPortAttr.LINK_LAYER to 1,
                IbvPortAttr.FLAGS to 1,
            )
        bytes.forEach { (offset, value) -> s.set(JAVA_BYTE, offset.toLong(), value.toByte()) }
    }

class PortAttributesSpec :
    FunSpec({
        test("should print one aligned line for each attribute") {
            PortAttributes.from(infiniBandPort()).toString() shouldBe
                """
                Port state              : ACTIVE (4)
                Max MTU                 : 4096 (5)
                Active MTU              : 1024 (3)
                SM lid                  : 17
                Port lid                : 49151
                lmc                     : 3
                Link layer              : INFINIBAND (1)
                Max message size        : 0x80000000
                Port cap flags          : 0x80000002
                Port cap flags 2        : 0x8020
                Max VL num              : 4
                Bad Pkey counter        : 4294967295
                Qkey violations counter : 7
                Gid table len           : 8
                Pkey table len          : 128
                SM sl                   : 9
                Subnet timeout          : 18
                Init type reply         : 6
                Active width            : 4X (2)
                Active speed            : 50.0 Gbps (64)
                Phys state              : LINK_UP (5)
                Flags                   : 1
                """.trimIndent()
        }

        test("should read the constants with their numbers") {
            val port = PortAttributes.from(infiniBandPort())
            port.state() shouldBe PortState.ACTIVE
            port.rawState() shouldBe 4
            port.maxMtu() shouldBe Mtu.MTU_4096
            port.rawMaxMtu() shouldBe 5
            port.activeMtu() shouldBe Mtu.MTU_1024
            port.rawActiveMtu() shouldBe 3
            port.linkLayer() shouldBe LinkLayer.INFINIBAND
            port.rawLinkLayer() shouldBe 1
            port.maxMessageSize() shouldBe 0x80000000L
            port.linkGbps() shouldBe 200.0
        }

        test("should join the capabilities of both masks") {
            PortAttributes.from(infiniBandPort()).capabilities() shouldBe
                EnumSet.of(PortCapability.SM, PortCapability.LINK_SPEED_HDR_SUP)
        }

        test("should show what it has no name for as UNKNOWN beside its number") {
            val port = PortAttributes.from(withByte(IbvPortAttr.LINK_LAYER, 200).also { it.set(JAVA_INT, 0L, 77) })
            port.state() shouldBe PortState.UNKNOWN
            port.rawState() shouldBe 77
            port.linkLayer() shouldBe LinkLayer.UNKNOWN
            port.rawLinkLayer() shouldBe 200
        }

        test("should translate every width") {
            val texts =
                listOf(
                    1,
                    2,
                    4,
                    8,
                    16,
                    0,
                    3,
                ).map { PortAttributes.from(withByte(IbvPortAttr.ACTIVE_WIDTH, it)).widthText() }
            texts shouldContainExactly listOf("1X", "4X", "8X", "12X", "2X", "invalid width", "invalid width")
        }

        test("should translate every speed") {
            val speeds = listOf(1, 2, 4, 8, 16, 32, 64, 128, 0, 3)
            val texts = speeds.map { PortAttributes.from(withByte(IbvPortAttr.ACTIVE_SPEED, it)).speedText() }
            texts shouldContainExactly
                listOf("2.5", "5.0", "10.0", "10.0", "14.0", "25.0", "50.0", "100.0").map { "$it Gbps" } +
                List(2) { "invalid speed" }
        }

        test("should translate every physical state") {
            val texts = (0..8).map { PortAttributes.from(withByte(IbvPortAttr.PHYS_STATE, it)).physStateText() }
            texts shouldContainExactly
                listOf(
                    "invalid physical state",
                    "SLEEP",
                    "POLLING",
                    "DISABLED",
                    "PORT_CONFIGURATION TRAINNING",
                    "LINK_UP",
                ) +
                listOf("LINK_ERROR_RECOVERY", "PHY TEST", "invalid physical state")
        }

        test("should prefer the wider speed where the library fills it in") {
            val wide = structure(IbvPortAttr.SIZE + Int.SIZE_BYTES)
            wide.set(JAVA_BYTE, IbvPortAttr.ACTIVE_SPEED.toLong(), 128.toByte())
            PortAttributes.from(wide).activeSpeed() shouldBe 128
            wide.set(JAVA_INT, 52L, 256)
            PortAttributes.from(wide).activeSpeed() shouldBe 256
            PortAttributes.from(wide).speedText() shouldBe "200.0 Gbps"
        }

        test("should require a global route on Ethernet, and where the port says so") {
            PortAttributes.from(structure()).isGlobalRouteRequired shouldBe false
            PortAttributes.from(withByte(IbvPortAttr.LINK_LAYER, 2)).isGlobalRouteRequired shouldBe true
            PortAttributes.from(withByte(IbvPortAttr.FLAGS, 1)).isGlobalRouteRequired shouldBe true
            PortAttributes.from(withByte(IbvPortAttr.FLAGS, 2)).isGlobalRouteRequired shouldBe false
        }
    })
