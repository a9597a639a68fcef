package org.kverbs.ibtool.congestion

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.management.transaction.MadException

/** `ibccconfig`: sets one attribute of congestion control. */
internal class IbCcConfigCommand : CongestionCommand("ibccconfig") {
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val operation by argument("op", help = "The attribute; any case")
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val words by argument("value", help = "The values of the fields").multiple()

    override fun help(context: Context) =
        """
        Set an attribute of congestion control. Wrong values slow down or stop a fabric.

        CongestionKeyInfo (CK): key, protect bit, lease period, violations. SwitchCongestionSetting (SS): control map,
        victim mask, credit mask, threshold, packet size, credit starvation threshold, its return delay as
        shift:multiplier, marking rate. SwitchPortCongestionSetting (SP): port, valid, control type, threshold, packet
        size, marking rate. CACongestionSetting (CS): port control, control map, timer, increase, trigger threshold,
        minimum. CongestionControlTable (CT): limit, index of the block, entries as shift:multiplier.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibccconfig SwitchCongestionSetting 2 0x1F 0x1FFFFFFFFF 0x0 0xF 8 0 0:0 1
          ibtool ibccconfig CACongestionSetting 1 0 0x3 150 1 0 0
          ibtool ibccconfig CongestionControlTable 1 1 0 0:0 0:1 --dry-run
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val name = printable(operation)
        val change =
            CongestionOperation.named(operation)?.change
                ?: throw DiagnosticException("operation '$name' not supported")
        val target = session.byLid(session.target(address))
        val changes = CongestionChange(session, target, words, isDry) { session.warn("ibccconfig: $it") }
        try {
            val report = change(changes)
            if (options.json) print(report.json) else print(report.text)
        } catch (e: MadException) {
            throw DiagnosticException("operation $name: ${e.message}", cause = e)
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("operation $name: ${e.message}", cause = e)
        }
    }
}
