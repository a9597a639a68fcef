package org.kverbs.ibtool.ibcheck

import kotlinx.serialization.json.JsonObject
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.ibtool.session.unsigned
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.readLines

/** How high error counters can be for the ibcheck commands: their defaults, changed by a file. */
internal class CheckLimits private constructor(
    private val values: Map<String, Long>,
) {
    /** Whether the counter is higher than its limit. A counter without a limit, such as PortXmitWait, never is. */
    fun isExceeded(
        counter: String,
        value: Long,
    ): Boolean = values[counter]?.let { java.lang.Long.compareUnsigned(value, it) > 0 } ?: false

    fun of(counter: String): Long = values.getValue(counter)

    /** Returns the lines of a file with these limits. */
    override fun toString(): String = values.entries.joinToString("\n") { (name, value) -> "$name=${value.toULong()}" }

    /** The limits by the names of the counters. */
    fun json(): JsonObject = JsonObject(values.mapValues { unsigned(it.value) })

    companion object {
        private val defaults =
            mapOf(
                "SymbolErrorCounter" to 10L,
                "LinkErrorRecoveryCounter" to 10L,
                "LinkDownedCounter" to 10L,
                "PortRcvErrors" to 10L,
                "PortRcvRemotePhysicalErrors" to 100L,
                "PortRcvSwitchRelayErrors" to 100L,
                "PortXmitDiscards" to 100L,
                "PortXmitConstraintErrors" to 100L,
                "PortRcvConstraintErrors" to 100L,
                "LocalLinkIntegrityErrors" to 10L,
                "ExcessiveBufferOverrunErrors" to 10L,
                "VL15Dropped" to 100L,
            )

        /** The shorter names of older files. */
        private val olderNames =
            listOf("SymbolErrors", "LinkRecovers", "LinkDowned", "RcvErrors", "RcvRemotePhysErrors") +
                listOf("RcvSwRelayErrors", "XmtDiscards", "XmtConstraintErrors", "RcvConstraintErrors") +
                listOf("LinkIntegrityErrors", "ExcBufOverrunErrors", "VL15Dropped")
        private val names = olderNames.zip(defaults.keys).toMap() + defaults.keys.associateWith { it }

        /** Reads a file of lines `name=value`, with comments behind `#`; without one there are the defaults. */
        fun read(file: Path?): CheckLimits {
            if (file == null) return CheckLimits(defaults)
            val lines =
                try {
                    file.readLines()
                } catch (e: IOException) {
                    throw DiagnosticException("${printable("$file")} cannot be read: ${problemOf(e)}", cause = e)
                }
            val given =
                lines.mapIndexedNotNull { at, text ->
                    val line = text.substringBefore('#').trim()
                    if (line.isEmpty()) null else limit(line, "line ${at + 1} of ${printable("$file")}")
                }
            return CheckLimits(defaults + given)
        }

        private fun limit(
            line: String,
            where: String,
        ): Pair<String, Long> {
            val name = names[line.substringBefore('=').trim()]
            val value = runCatching { number(line.substringAfter('=', "").trim()) }.getOrNull()
            if (name == null || value == null) {
                val text = "$where: \"${printable(line)}\" is no threshold; give name=value, such as VL15Dropped=100"
                throw DiagnosticException(text)
            }
            return name to value
        }
    }
}
