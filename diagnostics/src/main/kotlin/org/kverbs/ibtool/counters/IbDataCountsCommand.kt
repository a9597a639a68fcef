package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.management.transaction.MadException

/** `ibdatacounts`: the traffic of a port. */
internal class IbDataCountsCommand : DiagnosticCommand("ibdatacounts", "DK") {
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of the node; the sum of all without it")
        .convert { portNumber(it) }
        .default(EveryPort.ALL)

    override fun help(context: Context) = "Show the traffic of a port."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibdatacounts 3
          ibtool ibdatacounts 3 1
          ibtool ibdatacounts -G 0x2c90200000031 1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val query = PortCountersQuery(session, session.byLid(session.target(address)))
        try {
            val counters = DataCounters.of(query, port)
            if (options.json) print(counters.json()) else print("$counters")
        } catch (e: MadException) {
            throw DiagnosticException("${query.target} port $port: ${e.message}", cause = e)
        }
    }
}
