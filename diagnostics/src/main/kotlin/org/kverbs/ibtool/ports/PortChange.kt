package org.kverbs.ibtool.ports

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.management.structures.LinkSpeed
import org.kverbs.management.structures.LinkSpeedExt
import org.kverbs.management.structures.LinkSpeedExt2
import org.kverbs.management.structures.LinkWidth
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState
import org.kverbs.structures.Lid

/** What the words of a command line ask for: one operation, and values of fields. */
internal class PortChange private constructor(
    val operation: PortOperation,
    private val values: Map<PortSetting, Long>,
) {
    /** Whether the port is only looked at. */
    val isQuery: Boolean get() = operation == PortOperation.QUERY && values.isEmpty()

    /** Whether a field of the management key is set. */
    val setsKey: Boolean get() = values.keys.any { it.isOfKey }

    /** The value of a field, or null if that is not set. */
    operator fun get(setting: PortSetting): Long? = values[setting]

    /**
     * Returns what is sent to a port that is as [info] says. A set without a LID needs one that is valid, although the
     * ports of switches have none; infiniband-diags gives the same number. Zero leaves speeds and widths as they are.
     */
    fun request(info: PortInfo): PortInfo =
        PortInfo.of(info.bytes()).apply {
            if (!lid.isUnicast) lid = ANY_LID
            if (!masterSMLID.isUnicast) masterSMLID = ANY_LID
            portState = PortState.NO_CHANGE
            portPhysicalState = PortPhysicalState.NO_CHANGE
            linkSpeedEnabled = LinkSpeed.of(0)
            linkSpeedExtEnabled = LinkSpeedExt.of(0)
            linkSpeedExtEnabled2 = LinkSpeedExt2.of(0)
            linkWidthEnabled = LinkWidth.NO_CHANGE
            portState = operation.state
            portPhysicalState = operation.physicalState
            values.forEach { (setting, value) -> setting.assign(this, value) }
        }

    /** Returns the words; the management key is a secret. */
    override fun toString(): String =
        (
            listOf(operation.word).filter { operation != PortOperation.QUERY } +
                values.map { (setting, value) ->
                    "${setting.word} ${if (setting == PortSetting.MKEY) "..." else value}"
                }
        ).joinToString()

    companion object {
        private val ANY_LID = Lid(0x1234)
        private val operations = PortOperation.entries.associateBy { it.word }
        private val settings = PortSetting.entries.associateBy { it.word }

        /** The change that one operation makes. */
        fun of(operation: PortOperation): PortChange = PortChange(operation, emptyMap())

        /**
         * Reads the words of a command line.
         *
         * @param secret asks for a management key that is not on the command line
         * @throws DiagnosticException if they are wrong
         */
        fun parse(
            words: List<String>,
            secret: () -> String?,
        ): PortChange {
            var operation: PortOperation? = null
            val values = LinkedHashMap<PortSetting, Long>()
            val rest = words.iterator()
            while (rest.hasNext()) {
                val word = rest.next()
                val setting = settings[word]
                val named = operations[word]
                if (named != null) {
                    if (operation != null) throw DiagnosticException("$word$ONLY_ONE")
                    operation = named
                } else if (setting != null) {
                    if (!rest.hasNext()) throw DiagnosticException("$word requires an additional parameter")
                    values[setting] = value(setting, rest.next(), secret)
                } else {
                    throw DiagnosticException("invalid operation: ${printable(word)}")
                }
            }
            return PortChange(operation ?: PortOperation.QUERY, values)
        }

        private fun value(
            setting: PortSetting,
            text: String,
            secret: () -> String?,
        ): Long =
            try {
                val isAsked = setting == PortSetting.MKEY && text.isNotEmpty() && !text.first().isDigit()
                number(if (isAsked) secret().orEmpty() else text).also(setting::check)
            } catch (e: IllegalArgumentException) {
                throw DiagnosticException("${setting.word}: ${e.message}", DiagnosticException.USAGE, e)
            }

        private const val ONLY_ONE =
            " only one of: query, enable, disable, reset, down, arm, active, can be specified"
    }
}
