package org.kverbs.management

import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.described
import org.kverbs.structures.StructureDescription

private const val CONGESTION_LOG = 0x13

/** The one attribute of its class that does not begin where the class has its data: CCLogFormat. */
private const val CONGESTION_LOG_AT = 32

/** Where the parts of a datagram are. */
internal object MadLayout {
    /**
     * The layout of each class: of those with a field of data the one with the fewest classes, as ranges hold named
     * ones.
     */
    private val formats: Map<Int, StructureDescription> =
        (0..0xff)
            .mapNotNull { number ->
                described.structures
                    .filter { "Format" in it.name }
                    .filter { format -> format.classes.any { number in it } }
                    .filter { format -> format.fields.any { it.name == "data" } }
                    .minByOrNull { format -> format.classes.sumOf { it.count() } }
                    ?.let { format -> number to format }
            }.toMap()

    /** The layout of a class, or null if none is known. */
    fun format(mgmtClass: Int): StructureDescription? = formats[mgmtClass]

    /** Where an attribute begins in a datagram of a class; null for a class without a layout. */
    fun dataAt(
        mgmtClass: Int,
        attribute: Int,
    ): Int? =
        if (mgmtClass == ManagementClass.CONGESTION_CONTROL.value && attribute == CONGESTION_LOG) {
            CONGESTION_LOG_AT
        } else {
            formats[mgmtClass]?.let { format -> format.field("data").offset / Byte.SIZE_BITS }
        }
}
