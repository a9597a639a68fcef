package org.kverbs.management.sa

import org.kverbs.management.structures.InformInfo
import org.kverbs.structures.Lid

private const val ALL = 0xffff
private const val ALL_PRODUCERS = 0xffffff

/**
 * Whether a subscription asks for a notice (IBA volume 1, 13.4.8.3): by the LID of its issuer, its type, its number and
 * its producer. The highest number of each field stands for all.
 */
internal fun InformInfo.wants(
    issuer: Lid,
    type: Int,
    number: Int,
    producer: Int,
): Boolean {
    val first = lidRangeBegin.value
    val last = maxOf(first, lidRangeEnd.value)
    return (first == 0 || first == ALL || issuer.value in first..last) &&
        this.type.value in setOf(ALL, type) &&
        trapNumberDeviceID in setOf(ALL, number) &&
        producerTypeVendorID in setOf(0, ALL_PRODUCERS, producer)
}
