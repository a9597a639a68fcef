package org.kverbs.ibtool.smp

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.management.transaction.MadException

/** `smpquery`: one attribute of subnet management. */
internal class SmpQueryCommand : DiagnosticCommand("smpquery") {
    private val isCombined by option(
        "--combined",
        "-c",
        help = "Combined routes: not supported",
    ).flag()
    private val isExtended by option(
        "--extended",
        "-x",
        help = "Tell the port that extended speeds are known here",
    ).flag()
    private val operation by argument("op", help = "The attribute; any case")
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of the node; 0 without it")
        .convert {
            portNumber(it)
        }.optional()

    override fun help(context: Context) =
        "Show an attribute of subnet management: ${SmpOperation.entries.joinToString { "${it.title} (${it.alias})" }}."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool smpquery nodeinfo 3
          ibtool smpquery portinfo 3 1
          ibtool smpquery -D nodeinfo 0,1
          ibtool smpquery -G switchinfo 0x2C9000100D051
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val chosen =
            SmpOperation.entries.firstOrNull {
                it.title.equals(operation, ignoreCase = true) || it.alias.equals(operation, ignoreCase = true)
            }
                ?: throw DiagnosticException(
                    "operation '${printable(operation)}' not supported; --help lists the operations",
                )
        if (isCombined) throw DiagnosticException("combined routes are not supported; give a directed path or a LID")
        val target = session.target(address)
        val query = SmpQuery(session, target, port ?: 0, isExtended)
        try {
            val answer = chosen.ask(query)
            if (options.json) print(answer.json) else print(answer.text)
        } catch (e: MadException) {
            throw DiagnosticException("operation ${printable(operation)}: ${e.message}", cause = e)
        }
    }
}
