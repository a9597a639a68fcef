package org.kverbs.ibtool.ibcheck

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.counters.ErrorCounters
import org.kverbs.ibtool.counters.PortCountersQuery
import org.kverbs.ibtool.counters.sum
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.ibtool.session.unsigned
import org.kverbs.management.structures.NodeDescription
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortCounters
import org.kverbs.management.transaction.MadException
import java.nio.file.Path

/** `ibcheckerrs`: the error counters of a port, or of all ports of a node at once. */
internal class IbCheckErrsCommand : DiagnosticCommand("ibcheckerrs", "DKLes") {
    private val isBrief by option("-b", help = "Do not show the counters").flag()
    private val showsLimits by option("-s", help = "Show the thresholds").flag()
    private val file by option("-T", metavar = "FILE", help = "A file of lines name=value, with # before comments")
        .convert { Path.of(it) }

    @Suppress("unused") // There are no colours.
    private val isPlain by option("-N", "--nocolor", help = "Does nothing: there are no colours").flag()
    private val address by argument("address", help = "LID, GUID, GID or name").optional()
    private val port by argument("port", help = "The number of the port; 255, all ports, without it")
        .convert { portNumber(it) }
        .default(ALL)

    override fun help(context: Context) =
        "Check the error counters of a port against thresholds. The exit status is 255 if one is higher."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibcheckerrs -v 2 1
          ibtool ibcheckerrs -T limits 2
          ibtool ibcheckerrs -s
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val limits = CheckLimits.read(file)
        val address = address
        if (address == null && !showsLimits) {
            throw DiagnosticException("give an address, or -s", DiagnosticException.USAGE)
        }
        if (showsLimits && !options.json) line("$limits")
        if (address == null) {
            if (options.json) print(JsonObject(mapOf("thresholds" to limits.json())))
            return
        }
        val target = session.byLid(session.target(address))
        val query = PortCountersQuery(session, target)
        val (name, counters) =
            try {
                val node = session.get<NodeInfo>(target.path)
                query.begin()
                val name = session.names.of(node.nodeGUID, session.get<NodeDescription>(target.path))
                name to counters(query, node.numPorts)
            } catch (e: MadException) {
                throw DiagnosticException("Error check on lid ${target.lid} port $port: ${e.message}", cause = e)
            }
        val high =
            ErrorCounters.names
                .associateWith { counters[ErrorCounters.field(it)] as Long }
                .filter { (counter, value) -> limits.isExceeded(counter, value) }
        if (options.json) {
            print(
                buildJsonObject {
                    put("lid", target.lid)
                    put("name", name)
                    put("port", port)
                    if (showsLimits) put("thresholds", limits.json())
                    putJsonObject("errors") { high.forEach { (counter, value) -> put(counter, unsigned(value)) } }
                },
            )
        } else {
            show(high, limits, "lid ${target.lid} ($name) port ${if (port == ALL) "all" else "$port"}")
        }
        if (high.isNotEmpty()) throw ProgramResult(FAILED)
    }

    /** Of a node that does not count all its ports together, the sums of their counters. */
    private suspend fun counters(
        query: PortCountersQuery,
        ports: Int,
    ): PortCounters {
        val knowsAll = query.mask and PortCountersQuery.ALL_PORTS != 0
        return if (port != ALL || knowsAll) query.plain(port) else (1..ports).map { query.plain(it) }.sum()
    }

    private fun show(
        high: Map<String, Long>,
        limits: CheckLimits,
        where: String,
    ) {
        if (!isBrief) {
            for ((counter, value) in high) {
                line("#warn: counter $counter = ${value.toULong()} \t(threshold ${limits.of(counter)}) $where")
            }
        }
        if (high.isNotEmpty()) {
            line("Error check on $where:  FAILED")
        } else if (options.verbose > 0) {
            line("Error check on $where:  OK")
        }
    }

    private companion object {
        private const val ALL = 255
        private const val FAILED = 255
    }
}
