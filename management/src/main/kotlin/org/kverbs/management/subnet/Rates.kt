package org.kverbs.management.subnet

import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfo

/** All bits of a speed mask; such a number, like 30 of the extended speeds, has a meaning of its own. */
private const val EXTENDED_SPEEDS = 0xf

/** The number of the enabled extended speeds that stands for none. */
private const val NO_EXTENDED_SPEEDS = 30

/** The number of the enabled widths that stands for all that are supported. */
private const val ALL = 255

/** Reads widths and speeds out of the masks of [PortInfo]. */
internal object Rates {
    private val widths =
        listOf(LinkWidth.W1X to 1, LinkWidth.W2X to 2, LinkWidth.W4X to 4, LinkWidth.W8X to 8, LinkWidth.W12X to 12)
    private val speeds =
        listOf(LinkSpeed.SDR to LaneSpeed.SDR, LinkSpeed.DDR to LaneSpeed.DDR, LinkSpeed.QDR to LaneSpeed.QDR)
    private val extendedSpeeds =
        listOf(
            LinkSpeedExt.FDR to LaneSpeed.FDR,
            LinkSpeedExt.EDR to LaneSpeed.EDR,
            LinkSpeedExt.HDR to LaneSpeed.HDR,
            LinkSpeedExt.NDR to LaneSpeed.NDR,
        )

    /** What the port runs at, or null if it names no width or no speed that is known. */
    fun active(
        info: PortInfo,
        isFdr10: Boolean,
    ): LinkRate? {
        val lanes = widths.firstOrNull { (mask) -> mask == info.linkWidthActive }?.second
        val extended = extendedSpeeds.firstOrNull { (mask) -> mask == info.linkSpeedExtActive }?.second
        val plain = speeds.firstOrNull { (mask) -> mask == info.linkSpeedActive }?.second
        val speed =
            when {
                info.linkSpeedExtActive2 == LinkSpeedExt2.XDR -> LaneSpeed.XDR
                extended != null -> extended
                isFdr10 && plain == LaneSpeed.QDR -> LaneSpeed.FDR10
                else -> plain
            }
        return if (lanes == null || speed == null) null else LinkRate(lanes, speed)
    }

    /** The widths that the port can have, as the bits of [LinkWidth]. */
    fun supportedWidths(info: PortInfo): Int = info.linkWidthSupported.value

    /** The widths that the port has enabled, as the bits of [LinkWidth]; 255 stands for all. */
    fun enabledWidths(info: PortInfo): Int =
        info.linkWidthEnabled.value.let { if (it == ALL) supportedWidths(info) else it }

    /** The most lanes of a mask of widths. */
    fun lanes(mask: Int): Int = widths.lastOrNull { (width) -> width.value and mask != 0 }?.second ?: 0

    /** The speeds that the port can have, as bits by the ordinals of [LaneSpeed]. */
    fun supportedSpeeds(
        info: PortInfo,
        capabilities: PortCapabilityMask,
        knowsFdr10: Boolean,
    ): Int {
        var bits = bits(speeds.filter { (mask) -> mask.value and info.linkSpeedSupported.value != 0 })
        if (PortCapabilityMask.IsExtendedSpeedsSupported in capabilities) {
            val extended = info.linkSpeedExtSupported.value and EXTENDED_SPEEDS
            bits = bits or bits(extendedSpeeds.filter { (mask) -> mask.value and extended != 0 })
        }
        if (info.linkSpeedExtSupported2.value and LinkSpeedExt2.XDR.value != 0) bits = bits or bit(LaneSpeed.XDR)
        if (knowsFdr10) bits = bits or bit(LaneSpeed.FDR10)
        return bits
    }

    /** The speeds that the port has enabled, as those of [supportedSpeeds]. Of FDR10 only the running link tells. */
    fun enabledSpeeds(
        info: PortInfo,
        capabilities: PortCapabilityMask,
        runsFdr10: Boolean,
    ): Int {
        val plain = info.linkSpeedEnabled.value
        var bits = bits(speeds.filter { (mask) -> mask.value and plain != 0 })
        if (PortCapabilityMask.IsExtendedSpeedsSupported in capabilities) {
            val enabled = info.linkSpeedExtEnabled.value.takeIf { it != NO_EXTENDED_SPEEDS } ?: 0
            val extended = enabled and info.linkSpeedExtSupported.value and EXTENDED_SPEEDS
            bits = bits or bits(extendedSpeeds.filter { (mask) -> mask.value and extended != 0 })
        }
        if (info.linkSpeedExtEnabled2.value and LinkSpeedExt2.XDR.value != 0) bits = bits or bit(LaneSpeed.XDR)
        if (runsFdr10) bits = bits or bit(LaneSpeed.FDR10)
        return bits
    }

    /** The fastest of the speeds that [supportedSpeeds] or [enabledSpeeds] returned. */
    fun fastest(bits: Int): LaneSpeed? = LaneSpeed.entries.lastOrNull { bit(it) and bits != 0 }

    private fun bits(of: List<Pair<*, LaneSpeed>>): Int = of.fold(0) { bits, (_, speed) -> bits or bit(speed) }

    private fun bit(speed: LaneSpeed): Int = 1 shl speed.ordinal
}
