package org.kverbs.ibtool.counters

import org.kverbs.ibtool.session.number
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

        /** Reads the file of infiniband-diags; without it there are no thresholds. */
        fun usual(): Thresholds = if (Path.of(FILE).exists()) of(Path.of(FILE)) else none

        /**
         * Reads a file. Lines of other names are passed over.
         *
         * @throws IOException if it cannot be read
         */
        fun of(file: Path): Thresholds {
            val lines = file.readLines()
            val pairs =
                lines
                    .filter { it.isNotBlank() && !it.startsWith('#') }
                    .mapNotNull { line ->
                        val name = line.substringBefore('=')
                        val value = runCatching { number(line.substringAfter('=', "").trim()) }.getOrDefault(0L)
                        if (name in ErrorCounters.names) name to value else null
                    }
            val text = pairs.joinToString("", "Thresholds: ") { (name, value) -> "[$name = ${value.toULong()}]" }
            return Thresholds(pairs.toMap(), text)
        }
    }
}
