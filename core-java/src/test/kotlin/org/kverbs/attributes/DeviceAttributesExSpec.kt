package org.kverbs.attributes

import io.kotest.core.spec.style.FunSpec
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import io.kotest.matchers.string.shouldStartWith
import org.kverbs.internal.abi.IbvDeviceAttrEx
import java.lang.foreign.MemorySegment
import java.lang.foreign.ValueLayout.JAVA_BYTE
import java.lang.foreign.ValueLayout.JAVA_INT
import java.lang.foreign.ValueLayout.JAVA_LONG
import java.lang.foreign.ValueLayout.JAVA_SHORT
import java.util.EnumSet

private fun structure() = MemorySegment.ofArray(LongArray(IbvDeviceAttrEx.SIZE / Long.SIZE_BYTES))

class DeviceAttributesExSpec :
    FunSpec({
        test("should read each field from its own place") {
            // Every 16-bit word holds its offset, so a value shows the offset that it was read from.
            val s = structure()
            (0 until IbvDeviceAttrEx.SIZE step 2).forEach { s.set(JAVA_SHORT, it.toLong(), it.toShort()) }

            fun int(offset: Int) = s.get(JAVA_INT, offset.toLong())

            fun long(offset: Int) = s.get(JAVA_LONG, offset.toLong())
            val x = DeviceAttributesEx.from(s)

            x.original() shouldBe DeviceAttributes.from(s)
            x.compMask() shouldBe int(232)
            x.onDemandPaging() shouldBe
                DeviceAttributesEx.OnDemandPaging(long(240), int(248), int(252), int(256), int(392))
            x.completionTimestampMask() shouldBe long(264)
            x.hcaCoreClock() shouldBe long(272)
            x.deviceCapFlagsEx() shouldBe long(280)
            x.segmentation() shouldBe DeviceAttributesEx.Segmentation(int(288), int(292))
            x.receiveSideScaling() shouldBe
                DeviceAttributesEx.ReceiveSideScaling(
                    int(296),
                    int(300),
                    int(304),
                    long(312),
                    s.get(JAVA_BYTE, 320L).toInt() and 255,
                )
            x.maxWqTypeRq() shouldBe int(328)
            x.packetPacing() shouldBe DeviceAttributesEx.PacketPacing(int(332), int(336), int(340))
            x.rawPacketCaps() shouldBe int(344)
            x.tagMatching() shouldBe DeviceAttributesEx.TagMatching(int(348), int(352), int(356), int(360), int(364))
            x.cqModeration() shouldBe DeviceAttributesEx.CqModeration(368, 370)
            x.maxDmSize() shouldBe long(376)
            x.pciAtomics() shouldBe DeviceAttributesEx.PciAtomics(384, 386, 388)
            x.physPortCntEx() shouldBe int(396)
        }

        test("should join the capabilities of both masks") {
            val s = structure()
            s.set(JAVA_INT, IbvDeviceAttrEx.ORIG_ATTR_DEVICE_CAP_FLAGS.toLong(), DeviceCapability.XRC.bit().toInt())
            s.set(JAVA_LONG, IbvDeviceAttrEx.DEVICE_CAP_FLAGS_EX.toLong(), DeviceCapability.PCI_WRITE_END_PADDING.bit())
            DeviceAttributesEx.from(s).capabilities() shouldBe
                EnumSet.of(DeviceCapability.XRC, DeviceCapability.PCI_WRITE_END_PADDING)
        }

        test("should print the basic attributes and then one line for each further one, all aligned") {
            val s = structure()
            s.setString(0, "1.2")
            s.set(JAVA_LONG, IbvDeviceAttrEx.HCA_CORE_CLOCK.toLong(), 78125L)
            s.set(JAVA_INT, IbvDeviceAttrEx.PHYS_PORT_CNT_EX.toLong(), 300)
            val lines = DeviceAttributesEx.from(s).toString().lines()
            lines.first() shouldBe "FW version                        : 1.2"
            lines.size shouldBe 39 + 32
            lines.map { it.indexOf(": ") }.distinct() shouldContainExactly listOf(34)
            lines.single { it.startsWith("HCA core clock") } shouldBe "HCA core clock (kHz)              : 78125"
            lines.last() shouldStartWith "Phys port count ex "
            lines.last().substringAfter(": ") shouldBe "300"
        }
    })
