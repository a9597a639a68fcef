package org.kverbs.ibtool.counters

import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.readLines

/**
 * How high error counters can be before they are reported: lines `name=value` of a file.
 *
 * @property text the thresholds in the summary's form, or null without a file
 */
internal class Thresholds private constructor(
    private val values: Map<String, Long>,
    val text: String?,
) {
    /** Whether a counter is higher than its threshold, which is 0 if the file does not name it. */
    fun isExceeded(
        name: String,
        value: Long,
    ): Boolean = java.lang.Long.compareUnsigned(value, values[name] ?: 0) > 0

    companion object {
        /** The file of infiniband-diags. */
        const val FILE = "/etc/infiniband-diags/error_thresholds"

        /** No thresholds: no error is allowed. */
        val none: Thresholds = Thresholds(emptyMap(), null)

        /**
         * Reads the thresholds of [file], or without one those of infiniband-diags' file, if it is there. A name that is
         * no counter's, and a value that is no number, are 0 as in infiniband-diags; [warn] gets a sentence of each.
         *
         * @throws IOException if the file cannot be read
         */
        fun read(
            file: Path?,
            warn: (String) -> Unit,
        ): Thresholds {
            val path = file ?: Path.of(FILE).takeIf { it.exists() } ?: return none
            val pairs =
                path.readLines().flatMapIndexed { index, line ->
                    if (line.isBlank() || line.startsWith('#')) return@flatMapIndexed emptyList()
                    val where = "WARNING: line ${index + 1} of ${printable("$path")}"
                    listOfNotNull(threshold(line) { warn("$where: $it") })
                }
            val text = pairs.joinToString("", "Thresholds: ") { (name, value) -> "[$name = ${value.toULong()}]" }
            return Thresholds(pairs.toMap(), text)
        }

        private fun threshold(
            line: String,
            warn: (String) -> Unit,
        ): Pair<String, Long>? {
            val name = line.substringBefore('=')
            if (name !in ErrorCounters.names) {
                warn("there is no counter \"${shown(name)}\"")
                return null
            }
            val text = line.substringAfter('=', "").trim()
            val value = runCatching { number(text) }.getOrNull()
            if (value == null) warn("\"${shown(text)}\" is no number; the threshold of $name is 0")
            return name to (value ?: 0)
        }

        private fun shown(text: String) = printable(text.take(SHOWN))

        private const val SHOWN = 60
    }
}
