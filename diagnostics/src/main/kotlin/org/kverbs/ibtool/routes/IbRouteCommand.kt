package org.kverbs.ibtool.routes

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.lidNumber
import org.kverbs.ibtool.session.target

/** `ibroute`: the forwarding tables of a switch. */
internal class IbRouteCommand : DiagnosticCommand("ibroute", "K") {
    private val isAll by option("--all", "-a", help = "Show LIDs without an entry, too").flag()
    private val isBrief by option("--no_dests", "-n", help = "Do not ask for the names of destinations").flag()
    private val isMulticast by option("--Multicast", "-M", help = "Show the multicast table").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name of a switch")
    private val first by argument("startlid", help = "The first LID").convert { lidNumber(it) }.default(0)
    private val last by argument("endlid", help = "The last LID").convert { lidNumber(it) }.default(0)

    override fun help(context: Context) = "Show the forwarding tables of a switch."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibroute 4
          ibtool ibroute -n 4 0x10 0x20
          ibtool ibroute -M 4
          ibtool ibroute -D 0,1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val switch = SwitchOf.at(session, session.target(address))
        if (isMulticast) {
            val table = MulticastTable(session, switch, isAll)
            val rows = table.rows(first, last)
            if (options.json) print(table.json(rows)) else print(table.text(rows, isBrief))
        } else {
            val table = UnicastTable(session, switch, isAll, isBrief)
            val rows = table.rows(first, last)
            if (options.json) print(table.json(rows)) else print(table.text(rows))
        }
    }
}
