package org.kverbs.ibtool.counters

import org.kverbs.structures.Structure

private const val ALL_PORTS = 255
private val notSummed = setOf("portSelect", "counterSelect", "counterSelect2")

/** Returns the sums of counters of several ports; each stops at the highest value of its field, as counters do. */
internal fun <S : Structure> List<S>.sum(): S {
    val sum = last()
    val fields = sum.description.fields.filter { !it.isReserved && it.name !in notSummed }
    for (field in fields) {
        val most = if (field.width == Long.SIZE_BITS) -1L else (1L shl field.width) - 1
        sum[field.name] =
            map { it[field.name] as Long }.fold(0L) { total, value ->
                val next = total + value
                val isTooMuch =
                    java.lang.Long.compareUnsigned(next, total) < 0 || java.lang.Long.compareUnsigned(next, most) > 0
                if (isTooMuch) most else next
            }
    }
    sum["portSelect"] = ALL_PORTS
    return sum
}
