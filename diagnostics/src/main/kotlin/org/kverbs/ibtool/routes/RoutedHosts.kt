package org.kverbs.ibtool.routes

import java.math.BigInteger

/**
 * The names of hosts as `ibfindnodesusing` prints them: in the order of their prefixes, with ranges of the numbers at
 * their ends, such as `n01-n04` as `n01-04`.
 */
internal object RoutedHosts {
    private val numbered = Regex("(.*?)(\\d*)", RegexOption.DOT_MATCHES_ALL)

    /** The line of infiniband-diags, which begins with a blank if there are hosts. It divides names at commas. */
    fun text(names: List<String>): String =
        if (names.isEmpty()) "" else " " + ranges(names).joinToString(",").trimEnd(',').replace(',', ' ')

    /** The names with ranges. */
    fun ranges(names: List<String>): List<String> =
        names
            .map { name -> checkNotNull(numbered.matchEntire(name)).destructured.let { (a, b) -> a to b } }
            .sortedBy { (_, digits) -> value(digits) }
            .groupBy({ it.first }, { it.second })
            .toSortedMap()
            .flatMap { (prefix, digits) -> runs(digits).map { prefix + it } }

    private fun runs(digits: List<String>): List<String> {
        val runs = ArrayList<MutableList<String>>()
        for (text in digits) {
            val last = runs.lastOrNull()?.last()
            if (last != null && text.isNotEmpty() && last.isNotEmpty() && value(last) + BigInteger.ONE == value(text)) {
                runs.last() += text
            } else {
                runs += mutableListOf(text)
            }
        }
        return runs.map { if (it.size > 1) "${it.first()}-${it.last()}" else it.single() }
    }

    private fun value(digits: String): BigInteger = if (digits.isEmpty()) BigInteger.ZERO else BigInteger(digits)
}
