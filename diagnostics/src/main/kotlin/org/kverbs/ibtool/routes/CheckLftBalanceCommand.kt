package org.kverbs.ibtool.routes

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.addJsonObject
import kotlinx.serialization.json.buildJsonArray
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonObject
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.each
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.with
import org.kverbs.management.subnet.Subnet
import org.kverbs.structures.Guid
import java.nio.file.Path
import kotlin.io.path.readLines

/** `check_lft_balance`: the switches that do not use their ports evenly. */
internal class CheckLftBalanceCommand : DiscoveringCommand("check_lft_balance", "DGKLse") {
    private val tables by option("-l", metavar = "FILE", help = "What dump_lfts printed, in place of the fabric")
        .convert { Path.of(it) }
    private val topology by option("-i", metavar = "FILE", help = "Another name of --load-cache")
        .convert { Path.of(it) }
    private val looksDeeper by option(
        "-e",
        help = "Forgive what is natural for line boards and for switches with free ports",
    ).flag()

    @Suppress("unused") // The man page has it.
    private val isAnew by option("-R", help = "Does nothing: each run without files looks at the fabric").flag()

    override fun help(context: Context) =
        """
        Show the switches of which one port carries more LIDs than another one.

        With -v it shows all switches.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool check_lft_balance
          ibtool check_lft_balance -v -e
          ibtool dump_lfts > tables; ibtool ibdiscover cache; ibtool check_lft_balance -l tables -i cache
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val isAsked = tables == null
        val subnet =
            topology?.let { if (isAsked) loadOfHere(session, "-i", it) else load(it) }
                ?: subnet(session, isAsked = isAsked)
        val uses = tables?.let(::read) ?: uses(session, subnet)
        val all =
            uses.map { use ->
                PortUse(use, runCatching { subnet.node(Guid(number(use.guid))) }.getOrNull(), looksDeeper)
            }
        val shown = all.filter { it.isUnbalanced || options.verbose > 0 }
        if (options.json) return print(json(shown))
        for (use in shown) {
            line("${if (use.isUnbalanced) "Unbalanced " else ""}Switch Port Usage: ${use.title}")
            use.ports.forEach { line("Port %03d: %d".with(it, use.count(it))) }
        }
    }

    private fun read(file: Path): List<ForwardingUse> {
        val uses = ForwardingUse.read(file.readLines(Charsets.ISO_8859_1).asSequence())
        if (uses.isEmpty()) {
            throw DiagnosticException("${printable("$file")} has no forwarding tables as dump_lfts prints them")
        }
        return uses
    }

    /** What `dump_lfts` prints of the fabric, read switch by switch: the whole text has gigabytes on a large one. */
    private suspend fun uses(
        session: Session,
        subnet: Subnet,
    ): List<ForwardingUse> {
        val order = DiscoveryOrder(subnet)
        val destinations = Destinations(subnet, session.names)
        val switches = order.switches.mapNotNull { SwitchOf.found(session, it, order.path(it)) }
        return session
            .each("reading tables of switches", switches) { switch ->
                val table = UnicastTable(session, switch, isAll = false, isBrief = false, destinations)
                ForwardingUse.read(table.text(table.rows(0, 0)).lineSequence())
            }.flatten()
    }

    private fun json(all: List<PortUse>) =
        buildJsonArray {
            for (use in all) {
                addJsonObject {
                    put("guid", use.guid)
                    put("name", use.name)
                    put("isUnbalanced", use.isUnbalanced)
                    putJsonObject("lidsByPort") { use.ports.forEach { put("$it", use.count(it)) } }
                }
            }
        }
}
