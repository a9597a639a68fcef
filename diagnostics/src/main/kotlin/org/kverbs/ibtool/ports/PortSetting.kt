package org.kverbs.ibtool.ports

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.hex
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.MKeyProtectBits
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.VLCap
import org.kverbs.structures.Lid
import org.kverbs.management.structures.MTU as NeighborMTU

private const val LAST_LID = 0xbfffL
private const val ALL_WIDTHS = 255L

/**
 * A field of a port that `ibportstate` sets.
 *
 * @property title how infiniband-diags names the value when it is refused
 * @property range the values that are taken
 * @property assign writes the value; FDR10 is in an attribute of its own
 */
internal enum class PortSetting(
    private val title: String,
    private val range: LongRange,
    val assign: PortInfo.(Long) -> Unit,
) {
    SPEED("speed value", 0..15L, { linkSpeedEnabled = LinkSpeed.of(it.toInt()) }),
    ESPEED("extended speed value", 0..31L, { linkSpeedExtEnabled = LinkSpeedExt.of(it.toInt()) }),
    FDR10("fdr10 speed value", 0..1L, { }),
    WIDTH("width value", 0..31L, { linkWidthEnabled = LinkWidth.of(it.toInt()) }),
    VLS("vls value", 1..5L, { operationalVLs = VLCap.of(it.toInt()) }),
    MTU("mtu value", 1..5L, { neighborMTU = NeighborMTU.of(it.toInt()) }),
    LID("lid value", 1..LAST_LID, { lid = Lid(it.toInt()) }),
    SMLID("smlid value", 1..LAST_LID, { masterSMLID = Lid(it.toInt()) }),
    LMC("lmc value", 0..7L, { lmc = it.toInt() }),
    MKEY("mkey", Long.MIN_VALUE..Long.MAX_VALUE, { mKey = it }),
    MKEYLEASE("mkey lease time", 0..0xffffL, { mKeyLeasePeriod = it.toInt() }),
    MKEYPROT("mkey protection bit setting", 0..3L, { mKeyProtectBits = MKeyProtectBits.of(it.toInt()) }),
    ;

    /** The word of the command line. */
    val word: String get() = name.lowercase()

    /** Whether it is one of the fields of the management key, which only whole nodes have. */
    val isOfKey: Boolean get() = this == MKEY || this == MKEYLEASE || this == MKEYPROT

    /** Refuses a value that the field can't have. */
    fun check(value: Long) {
        if (value in range || (this == WIDTH && value == ALL_WIDTHS)) return
        val shown = if (this == LID || this == SMLID) "0x${hex(value)}" else value.toULong().toString()
        throw DiagnosticException("invalid $title $shown")
    }
}
