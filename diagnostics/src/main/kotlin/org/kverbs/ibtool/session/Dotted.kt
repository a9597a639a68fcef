package org.kverbs.ibtool.session

import org.kverbs.structures.Structure
import org.kverbs.structures.dotted

/** The lines of a structure in libibmad's form, `Name:.......value`, of which commands print a part. */
internal class Dotted(
    structure: Structure,
) {
    private val rows: Map<String, String> =
        buildMap {
            var last = ""
            for (line in structure.dotted().lines()) {
                if (line.startsWith("\t")) {
                    put(last, getValue(last) + line + "\n")
                } else if (':' in line) {
                    last = line.substringBefore(':')
                    put(last, line + "\n")
                }
            }
        }

    /** The names of all lines. */
    val names: List<String> get() = rows.keys.toList()

    /** The lines with these names, in this order. Those that are not there are left out. */
    fun text(names: Collection<String>): String = names.mapNotNull { rows[it] }.joinToString("")

    /** All lines but those with these names. */
    fun without(vararg names: String): String = text(rows.keys - names.toSet())

    companion object {
        private const val COLUMN = 33

        /** A line with a name and a value. */
        fun row(
            name: String,
            value: String,
        ): String = "$name:".padEnd(COLUMN, '.') + value + "\n"
    }
}
