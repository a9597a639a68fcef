package org.kverbs.ibtool.congestion

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.management.transaction.MadException

/** `ibccquery`: one attribute of congestion control. */
internal class IbCcQueryCommand : CongestionCommand("ibccquery") {
    private val operation by argument("op", help = "The attribute; any case")
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of a switch, for SP; all without it")
        .convert { portNumber(it) }
        .default(0)

    override fun help(context: Context) =
        "Show an attribute of congestion control: " +
            "${CongestionOperation.entries.joinToString { "${it.title} (${it.alias})" }}."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibccquery CongestionInfo 3
          ibtool ibccquery SwitchPortCongestionSetting 3
          ibtool ibccquery SP 3 1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val name = printable(operation)
        val chosen =
            CongestionOperation.named(operation) ?: throw DiagnosticException("operation '$name' not supported")
        val target = session.byLid(session.target(address))
        val query = CongestionQuery(session, target, port) { if (!options.json) line(it) }
        try {
            val report = chosen.ask(query)
            if (options.json) print(report.json) else print(report.text)
        } catch (e: MadException) {
            throw DiagnosticException("operation $name: ${e.message}", cause = e)
        }
    }
}
