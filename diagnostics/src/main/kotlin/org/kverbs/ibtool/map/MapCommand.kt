package org.kverbs.ibtool.map

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.counters.ErrorCounters
import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.ibtool.counters.Thresholds
import org.kverbs.ibtool.counters.readCounters
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.pretty
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.management.subnet.Subnet
import java.io.IOException
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.writeText

/** `map`: the fabric as a picture. */
internal class MapCommand : DiscoveringCommand("map", "DGKLesv") {
    private val isDot by option("--dot", help = "Write the language of Graphviz in place of SVG").flag()
    private val hidesHosts by option("--no-hosts", help = "Draw no hosts, as beyond $MOST of them").flag()
    private val hidesErrors by option("--no-counters", help = "Do not ask for error counters").flag()
    private val thresholds by option(
        "--threshold-file",
        metavar = "FILE",
        help = "Lines name=value (${Thresholds.FILE}). A counter without a line must be 0.",
    ).convert { Path.of(it) }
    private val file by argument("file", help = "Where to write the map; standard output without it")
        .convert { Path.of(it) }
        .optional()

    override fun help(context: Context) =
        """
        Draw the fabric as SVG.

        Switches are in rows by their distance from the hosts. The nodes of a chassis have one colour, and links have the
        colours of their speeds. Links below their rate are orange, links with errors are red.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool map fabric.svg
          ibtool map --dot | dot -Tpdf -o fabric.pdf
          ibtool map --fabric fat-tree:4 fabric.svg
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session)
        if (file?.exists() == true) session.requireWhole()
        val readings = if (isLoaded || hidesErrors) null else counters(session, subnet)
        val hasHosts = !hidesHosts && subnet.nodes.count { !it.isSwitch } <= MOST
        val hidden = setOf(ErrorCounters.WAIT, ErrorCounters.RELAY)
        val wishes =
            FabricMap.Wishes(
                hasHosts,
                readings,
                limits(),
                hidden,
            )
        val map = FabricMap(subnet, session.names, wishes)
        val text =
            when {
                options.json -> pretty(MapJson(session.names).of(map)) + "\n"
                isDot -> DotMap(map).write()
                else -> SvgMap(map).draw()
            }
        val file = file ?: return print(text)
        OutputFile.writing("the file", file) { it.writeText(text) }
    }

    private fun limits(): Thresholds =
        try {
            Thresholds.read(thresholds) { warn(it) }
        } catch (e: IOException) {
            val file = printable("${thresholds ?: Thresholds.FILE}")
            throw DiagnosticException("the thresholds of $file cannot be read: ${problemOf(e)}", cause = e)
        }

    private suspend fun counters(
        session: Session,
        subnet: Subnet,
    ): PortReadings {
        val ports = subnet.ports.filter { it.number > 0 && it.peer != null }
        val readings =
            session.working({ "reading the counters of ${ports.size} ports" }) { session.fabric.readCounters(ports) }
        val texts = PortText(session.names)
        for ((node, text) in readings.failures) warn("${texts.of(node)} tells no counters: ${PortText.safe(text)}")
        return readings
    }

    private companion object {
        private const val MOST = 200
    }
}
