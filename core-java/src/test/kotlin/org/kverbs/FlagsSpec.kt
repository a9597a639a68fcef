package org.kverbs

import io.kotest.core.spec.style.FunSpec
import io.kotest.datatest.withTests
import io.kotest.engine.names.WithDataTestName
import io.kotest.matchers.collections.shouldBeEmpty
import io.kotest.matchers.collections.shouldContainExactly
import io.kotest.matchers.shouldBe
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.DeviceCapability
import org.kverbs.attributes.PortCapability
import org.kverbs.attributes.QueuePairAttribute
import org.kverbs.internal.abi.IbvAccessFlags
import org.kverbs.internal.abi.IbvDevice64CapFlags
import org.kverbs.internal.abi.IbvDeviceCapFlags
import org.kverbs.internal.abi.IbvPortCapFlags
import org.kverbs.internal.abi.IbvPortCapFlags2
import org.kverbs.internal.abi.IbvQpAttrMask
import java.util.EnumSet

private class Flags(
    val name: String,
    val ours: Map<String, Long>,
    val ofC: Map<String, Long>,
    val roundTrip: (Long) -> Long,
) : WithDataTestName {
    override fun dataTestName() = name
}

class FlagsSpec :
    FunSpec({
        val all =
            listOf(
                Flags(
                    "AccessFlag",
                    AccessFlag.entries.associate { "IBV_ACCESS_${it.name}" to it.bit().toLong() },
                    // The two flush flags are newer than the bound headers.
                    constantsOf(IbvAccessFlags::class.java) +
                        mapOf("IBV_ACCESS_FLUSH_GLOBAL" to 0x100L, "IBV_ACCESS_FLUSH_PERSISTENT" to 0x200L),
                ) { AccessFlag.mask(AccessFlag.of(it.toInt())).toLong() },
                Flags(
                    "QueuePairAttribute",
                    QueuePairAttribute.entries.associate { "IBV_QP_${it.name}" to it.bit().toLong() },
                    constantsOf(IbvQpAttrMask::class.java),
                ) { QueuePairAttribute.mask(QueuePairAttribute.of(it.toInt())).toLong() },
                Flags(
                    "DeviceCapability",
                    DeviceCapability.entries.associate { "IBV_DEVICE_${it.name}" to it.bit() },
                    // The last three are bits of the kernel's interface that libibverbs has no names for.
                    constantsOf(IbvDeviceCapFlags::class.java) + constantsOf(IbvDevice64CapFlags::class.java) +
                        mapOf(
                            "IBV_DEVICE_FLUSH_GLOBAL" to (1L shl 38),
                            "IBV_DEVICE_FLUSH_PERSISTENT" to (1L shl 39),
                            "IBV_DEVICE_ATOMIC_WRITE" to (1L shl 40),
                        ),
                ) { DeviceCapability.mask(DeviceCapability.of(it)) },
                Flags(
                    "PortCapability",
                    PortCapability.entries.associate { "IBV_PORT_${it.name}" to it.bit() },
                    // XDR is newer than the bound headers.
                    constantsOf(IbvPortCapFlags::class.java) +
                        constantsOf(IbvPortCapFlags2::class.java).mapValues { it.value shl 32 } +
                        mapOf("IBV_PORT_LINK_SPEED_XDR_SUP" to (1L shl 44)),
                ) { PortCapability.mask(PortCapability.of(it)) },
            )

        context("should have exactly the flags and bits of C") {
            withTests(all) { it.ours shouldBe it.ofC }
        }

        context("should give each bit of its own, and drop the bits without a name") {
            withTests(all) { flags ->
                val known = flags.ours.values.fold(0L, Long::or)
                flags.ours.values.sumOf { it.countOneBits() } shouldBe known.countOneBits()
                flags.roundTrip(-1L) shouldBe known
                flags.roundTrip(0L) shouldBe 0L
                flags.ours.values.forEach { flags.roundTrip(it) shouldBe it }
            }
        }

        test("should join the bits of any number of flags") {
            AccessFlag.mask() shouldBe 0
            AccessFlag.mask(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ) shouldBe 5
            AccessFlag.mask(listOf(AccessFlag.RELAXED_ORDERING, AccessFlag.RELAXED_ORDERING)) shouldBe 0x100000
            AccessFlag.of(6) shouldContainExactly EnumSet.of(AccessFlag.REMOTE_WRITE, AccessFlag.REMOTE_READ)
        }

        test("should return a set that its owner may change") {
            AccessFlag.of(1).clear()
            AccessFlag.of(1) shouldContainExactly EnumSet.of(AccessFlag.LOCAL_WRITE)
            AccessFlag.of(1 shl 31).shouldBeEmpty()
        }
    })
