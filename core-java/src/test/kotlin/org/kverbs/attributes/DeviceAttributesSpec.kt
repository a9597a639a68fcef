package org.kverbs.attributes

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainAll
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.internal.abi.IbvDeviceAttr
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.foreign.ValueLayout.JAVA_SHORT
import java.nio.ByteOrder

/** The output of Pyverbs for a ConnectX-5, from the README of Pyverbs. */
private val pyverbsExample =
    """
    FW version            : 16.24.0185
    Node guid             : 9803:9b03:0000:e4c6
    Sys image GUID        : 9803:9b03:0000:e4c6
    Max MR size           : 0xffffffffffffffff
    Page size cap         : 0xfffffffffffff000
    Vendor ID             : 0x2c9
    Vendor part ID        : 4119
    HW version            : 0
    Max QP                : 262144
    Max QP WR             : 32768
    Device cap flags      : 3983678518
    Max SGE               : 30
    Max SGE RD            : 30
    MAX CQ                : 16777216
    Max CQE               : 4194303
    Max MR                : 16777216
    Max PD                : 16777216
    Max QP RD atom        : 16
    Max EE RD atom        : 0
    Max res RD atom       : 4194304
    Max QP init RD atom   : 16
    Max EE init RD atom   : 0
    Atomic caps           : 1
    Max EE                : 0
    Max RDD               : 0
    Max MW                : 16777216
    Max raw IPv6 QPs      : 0
    Max raw ethy QP       : 0
    Max mcast group       : 2097152
    Max mcast QP attach   : 240
    Max AH                : 2147483647
    Max FMR               : 0
    Max map per FMR       : 2147483647
    Max SRQ               : 8388608
    Max SRQ WR            : 32767
    Max SRQ SGE           : 31
    Max PKeys             : 128
    local CA ack delay    : 16
    Phys port count       : 1
    """.trimIndent()

/** The C structure with the values of [pyverbsExample]. */
private fun connectX5() =
    deviceAttr {
        it.setString(IbvDeviceAttr.FW_VER.toLong(), "16.24.0185")
        it.set(guid, IbvDeviceAttr.NODE_GUID.toLong(), -0x67fc64fcffff1b3aL)
        it.set(guid, IbvDeviceAttr.SYS_IMAGE_GUID.toLong(), -0x67fc64fcffff1b3aL)
        it.set(JAVA_LONG, IbvDeviceAttr.MAX_MR_SIZE.toLong(), -1L)
        it.set(JAVA_LONG, IbvDeviceAttr.PAGE_SIZE_CAP.toLong(), -4096L)
        val ints =
            mapOf(
                IbvDeviceAttr.VENDOR_ID to 0x2c9,
                IbvDeviceAttr.VENDOR_PART_ID to 4119,
                IbvDeviceAttr.MAX_QP to 262144,
                IbvDeviceAttr.MAX_QP_WR to 32768,
                IbvDeviceAttr.DEVICE_CAP_FLAGS to 3983678518L.toInt(),
                IbvDeviceAttr.MAX_SGE to 30,
                IbvDeviceAttr.MAX_SGE_RD to 30,
                IbvDeviceAttr.MAX_CQ to 16777216,
                IbvDeviceAttr.MAX_CQE to 4194303,
                IbvDeviceAttr.MAX_MR to 16777216,
                IbvDeviceAttr.MAX_PD to 16777216,
                IbvDeviceAttr.MAX_QP_RD_ATOM to 16,
                IbvDeviceAttr.MAX_RES_RD_ATOM to 4194304,
                IbvDeviceAttr.MAX_QP_INIT_RD_ATOM to 16,
                IbvDeviceAttr.ATOMIC_CAP to 1,
                IbvDeviceAttr.MAX_MW to 16777216,
                IbvDeviceAttr.MAX_MCAST_GRP to 2097152,
                IbvDeviceAttr.MAX_MCAST_QP_ATTACH to 240,
                IbvDeviceAttr.MAX_TOTAL_MCAST_QP_ATTACH to 503316480,
                IbvDeviceAttr.MAX_AH to 2147483647,
                IbvDeviceAttr.MAX_MAP_PER_FMR to 2147483647,
                IbvDeviceAttr.MAX_SRQ to 8388608,
                IbvDeviceAttr.MAX_SRQ_WR to 32767,
                IbvDeviceAttr.MAX_SRQ_SGE to 31,
            )
        ints.forEach { (offset, value) -> it.set(JAVA_INT, offset.toLong(), value) }
        it.set(JAVA_SHORT, IbvDeviceAttr.MAX_PKEYS.toLong(), 128)
        it.set(JAVA_BYTE, IbvDeviceAttr.LOCAL_CA_ACK_DELAY.toLong(), 16)
        it.set(JAVA_BYTE, IbvDeviceAttr.PHYS_PORT_CNT.toLong(), 1)
    }

private val guid = JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN)

private fun deviceAttr(fill: (MemorySegment) -> Unit): MemorySegment =
    MemorySegment.ofArray(LongArray(IbvDeviceAttr.SIZE / Long.SIZE_BYTES)).also(fill)

class DeviceAttributesSpec :
    FunSpec({
        test("should print what Pyverbs prints, line for line") {
            DeviceAttributes.from(connectX5()).toString() shouldBe pyverbsExample
        }

        test("should read each field from its own place") {
            // Every byte holds its offset, so a value shows the offset that it was read from.
            val places =
                deviceAttr { s ->
                    (0 until IbvDeviceAttr.SIZE).forEach { s.set(JAVA_BYTE, it.toLong(), it.toByte()) }
                }
            val lines =
                DeviceAttributes
                    .from(places)
                    .toString()
                    .lines()
                    .drop(1)
                    .map { it.substringAfter(": ") }

            fun int(offset: Int) = Integer.toUnsignedLong(places.get(JAVA_INT, offset.toLong()))
            val printedInts =
                (IbvDeviceAttr.MAX_QP..IbvDeviceAttr.MAX_SRQ_SGE step 4) - IbvDeviceAttr.MAX_TOTAL_MCAST_QP_ATTACH
            lines shouldContainExactly
                listOf(
                    "4041:4243:4445:4647",
                    "4849:4a4b:4c4d:4e4f",
                    "0x5756555453525150",
                    "0x5f5e5d5c5b5a5958",
                    "0x63626160",
                ) +
                listOf(IbvDeviceAttr.VENDOR_PART_ID, IbvDeviceAttr.HW_VER).map { int(it).toString() } +
                printedInts.map {
                    if (it == IbvDeviceAttr.DEVICE_CAP_FLAGS) {
                        int(it).toString()
                    } else {
                        int(it).toInt().toString()
                    }
                } +
                listOf(0xe1e0.toString(), 0xe2.toString(), 0xe3.toString())
            DeviceAttributes.from(places).maxTotalMcastQpAttach() shouldBe
                int(IbvDeviceAttr.MAX_TOTAL_MCAST_QP_ATTACH).toInt()
        }

        test("should name the capabilities, and keep the raw masks") {
            val attributes = DeviceAttributes.from(connectX5())
            attributes.deviceCapFlags() shouldBe 3983678518L.toInt()
            attributes.capabilities() shouldContainAll
                listOf(DeviceCapability.XRC, DeviceCapability.MANAGED_FLOW_STEERING)
            // bits without a name
            DeviceCapability.mask(attributes.capabilities()).inv() and 3983678518L shouldBe 0xc8400000L
            attributes.atomicCapability() shouldBe AtomicCapability.HCA
        }

        test("should show an atomic capability without a name as UNKNOWN beside its number") {
            val attributes =
                DeviceAttributes.from(
                    deviceAttr { it.set(JAVA_INT, IbvDeviceAttr.ATOMIC_CAP.toLong(), 9) },
                )
            attributes.atomicCapability() shouldBe AtomicCapability.UNKNOWN
            attributes.atomicCap() shouldBe 9
        }

        test("should take a firmware version that fills its field to the last byte") {
            val full = deviceAttr { s -> (0 until 64).forEach { s.set(JAVA_BYTE, it.toLong(), 'x'.code.toByte()) } }
            full.set(JAVA_LONG, IbvDeviceAttr.NODE_GUID.toLong(), -1L)
            DeviceAttributes.from(full).firmwareVersion() shouldBe "x".repeat(64)
        }

        test("should equal what was read from an equal structure") {
            DeviceAttributes.from(connectX5()) shouldBe DeviceAttributes.from(connectX5())
        }
    })
