package org.kverbs.ibtool.check

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.default
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.options.pair
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.health.PortText
import org.kverbs.ibtool.map.DifferenceMap
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.OutputFile
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.ranged
import org.kverbs.ibtool.session.target
import org.kverbs.management.check.DEFAULT_IMBALANCE
import org.kverbs.management.path.LidPath
import org.kverbs.management.subnet.Subnet
import org.kverbs.structures.Lid
import java.nio.file.Path
import kotlin.io.path.exists
import kotlin.io.path.writeText

/** `check`: the routes, multicast trees and partitions of a fabric, and its topology against the planned one. */
internal class CheckCommand : DiscoveringCommand("check", "Kes") {
    private val skipped by option(
        "--skip",
        metavar = "PARTS",
        help = "Parts to leave out: ${FabricChecks.Part.entries.joinToString(",") { it.key }}",
    ).convert { text -> text.split(',').map(::part).toSet() }
        .default(emptySet())
    private val expected by option(
        "--expect",
        metavar = "FILE",
        help = "Compare by names with what ibnetdiscover printed or saved, or with a net file",
    ).convert { Path.of(it) }
    private val picture by option(
        "--picture",
        metavar = "FILE",
        help = "With --expect: draw the plan and what is different as SVG",
    ).convert { Path.of(it) }
    private val ends by option(
        "--path",
        metavar = "FROM TO",
        help = "Only follow the way between two addresses, with the counters of its ports",
    ).pair()
    private val imbalance by option(
        "--imbalance",
        metavar = "FACTOR",
        help = "How many times as many LIDs a port can carry as another one that is as near (2)",
    ).convert { text -> requireNotNull(text.toDoubleOrNull()?.takeIf { it >= 1 }) { "give 1 or more" } }
        .default(DEFAULT_IMBALANCE)
    private val most by option("--most", metavar = "N", help = "How many unreachable pairs are shown (100)")
        .convert { text -> ranged(text, 0..MOST).toInt() }
        .default(PAIRS)

    private fun part(key: String): FabricChecks.Part =
        requireNotNull(FabricChecks.Part.entries.firstOrNull { it.key == key }) {
            "there is no part ${printable(key)}; give some of ${FabricChecks.Part.entries.joinToString(",") { it.key }}"
        }

    override fun help(context: Context) =
        """
        Check the routes, the multicast trees and the partitions of the fabric.

        It follows the forwarding tables from each port to each LID: pairs that do not reach each other, circles of
        links that can block each other (reckoned on one virtual lane), and switches that use equally short ways
        unevenly. With --expect it compares the fabric with the planned one, by the names of nodes and the numbers of
        ports. The exit status is 1 if something is wrong.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool check
          ibtool check --expect planned.net --skip partitions
          ibtool check --path H-1 H-9 --fabric hosts:16
          ibtool check --fabric torus:4,4
        """.trimIndent()

    override suspend fun execute(session: Session) {
        if (picture != null && (expected == null || ends != null)) {
            throw UsageError("--picture needs --expect FILE, whose difference it draws")
        }
        val isAsked = ends != null || !skipped.containsAll(FabricChecks.Part.entries)
        val subnet = subnet(session, warns = false, isAsked = isAsked)
        val checks = FabricChecks(session.fabric, subnet, { session.forwardingTables(subnet, it) }, session.warn)
        val ends = ends
        val report =
            if (ends != null) {
                val from = lid(session, ends.first)
                checks.way(port(subnet, from), lid(session, ends.second))
            } else {
                val planned = expected?.let { ExpectedTopology(it, session.warn).read() }
                session
                    .working({ "checking ${subnet.nodes.size} nodes" }) {
                        checks.all(skipped, imbalance, most, planned)
                    }.also { if (planned != null) draw(session, planned, it) }
            }
        if (options.json) {
            print(CheckJson(session.names).of(report))
        } else {
            print(CheckText(PortText(session.names)).of(report))
        }
        if (report.isBad) throw ProgramResult(1)
    }

    private fun draw(
        session: Session,
        planned: Subnet,
        report: CheckReport,
    ) {
        val file = picture ?: return
        if (file.exists()) session.requireWhole()
        val map = DifferenceMap(planned, session.names, checkNotNull(report.difference))
        OutputFile.writing("--picture", OutputFile.checked("--picture", file)) { it.writeText(map.draw()) }
    }

    private suspend fun lid(
        session: Session,
        address: String,
    ): Lid = (session.byLid(session.target(address)).path as LidPath).destination

    private fun port(
        subnet: Subnet,
        lid: Lid,
    ) = subnet.port(lid) ?: throw DiagnosticException("no port has the LID $lid")

    private companion object {
        private const val PAIRS = 100
        private const val MOST = 1_000_000L
    }
}
