package org.kverbs.ibtool.routes

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.hex16
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.ibtool.session.target
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.directed
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.readLines

/** `ibtracert`: the way of packets from one port to another. */
internal class IbTracertCommand : DiagnosticCommand("ibtracert", "DK") {
    private val isForced by option("--force", "-f", help = "Look for the LID, even if its port does not answer").flag()
    private val isBrief by option("--no_info", "-n", help = "Show GUIDs and ports alone").flag()
    private val group by option("--mlid", "-m", metavar = "MLID", help = "Follow a multicast group").convert {
        int(it)
    }
    private val pairs by option("--ports-file", metavar = "FILE", help = "A file with two addresses a line").convert {
        Path.of(it)
    }
    private val source by argument("source", help = "LID, directed path, GUID, GID or name").optional()
    private val destination by argument("destination", help = "LID, directed path, GUID, GID or name").optional()

    override fun help(context: Context) = "Show the way of packets from one port to another."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibtracert 4 16
          ibtool ibtracert -n 4 16
          ibtool ibtracert -m 0xc000 4 16
        """.trimIndent()

    private val results = ArrayList<JsonElement>()

    override suspend fun execute(session: Session) {
        val file = pairs
        val from = source
        val to = destination
        when {
            file != null -> ofFile(session, file)
            from != null && to != null -> trace(session, from, to)
            else -> throw DiagnosticException("give two addresses, or --ports-file", DiagnosticException.USAGE)
        }
        if (options.json) print(if (file == null) results.single() else JsonArray(results))
    }

    private suspend fun ofFile(
        session: Session,
        file: Path,
    ) {
        var count = 0
        for (text in lines(file)) {
            if (text.isEmpty() || text.startsWith('#')) continue
            val words = text.split(Regex("\\s+"))
            if (words.size < 2) throw DiagnosticException("ports-file, $file contains bad data")
            trace(session, words[0], words[1])
            count++
        }
        if (!options.json) line("$count lid/guid pairs processed from $file")
    }

    private fun lines(file: Path): List<String> =
        try {
            file.readLines().map(String::trim)
        } catch (e: IOException) {
            throw DiagnosticException("--ports-file ${printable("$file")} cannot be read: ${problemOf(e)}", cause = e)
        }

    private suspend fun trace(
        session: Session,
        source: String,
        destination: String,
    ) {
        val from = session.byLid(session.target(source)).path as LidPath
        val to = session.byLid(session.target(destination)).path as LidPath
        val trace = RouteTrace(session, isForced)
        val start = trace.find(directed(0), from).path
        val group = group
        if (group ==
            null
        ) {
            show(trace.find(start, to))
        } else {
            multicast(session, group, MulticastTrace(session, group, goal(session, to)).find(start))
        }
    }

    private suspend fun goal(
        session: Session,
        to: LidPath,
    ): Long = Stop.at(session, to).portGuid

    private fun show(route: RouteTrace.Route) {
        if (options.json) {
            results.add(JsonArray(listOf(route.from.json(null)) + route.steps.map { it.stop.json(it.out) }))
            return
        }
        line(end("From", route.from))
        for (step in route.steps) {
            val stop = step.stop
            val port = "{0x${hex16(stop.portGuid)}}[${stop.port}]"
            val there = if (isBrief) port else "${stop.type} port $port ${stop.lidsAndName}"
            line("[${step.out}] -> $there")
        }
        line(end("To", route.to))
    }

    private fun end(
        word: String,
        stop: Stop,
    ): String {
        val number = if (stop.isSwitch) 0 else stop.port
        val guid = "{0x${hex16(stop.node.nodeGUID.value)}}"
        return if (isBrief) "$word $guid[$number]" else "$word ${stop.type} $guid portnum $number ${stop.lidsAndName}"
    }

    private fun multicast(
        session: Session,
        group: Int,
        branches: List<MulticastTrace.Branch>,
    ) {
        if (group < FIRST_GROUP) session.warn("invalid MLID; must be 0xc000 or larger")
        if (options.json) {
            results.add(JsonArray(branches.map { branch -> branch.stop.json(branch.out.takeIf { branch.up != null }) }))
            return
        }
        for (branch in branches) {
            val stop = branch.stop
            val guid = "0x${hex(stop.node.nodeGUID.value)}"
            when {
                branch.up == null -> line("From ${stop.type} $guid port ${stop.port} ${stop.lidsAndName}")
                isBrief -> line("[${branch.out}] -> ${stop.type} {0x${hex16(stop.node.nodeGUID.value)}}[${stop.port}]")
                else -> line("[${branch.out}] -> ${stop.type} $guid[${stop.port}] lid ${stop.lid} \"${stop.name}\"")
            }
        }
        val last = branches.last().stop
        line("To ${last.type} 0x${hex(last.node.nodeGUID.value)} port ${last.port} ${last.lidsAndName}")
    }

    private companion object {
        private const val FIRST_GROUP = 0xc000
    }
}
