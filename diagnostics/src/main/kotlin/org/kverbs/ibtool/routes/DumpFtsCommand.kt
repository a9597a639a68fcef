package org.kverbs.ibtool.routes

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.default
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.fabric.DiscoveryOrder
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.lidNumber
import org.kverbs.management.transaction.MadException

/**
 * `dump_fts`, and its older names `dump_lfts` and `dump_mfts`: the forwarding tables of all switches.
 *
 * @param isOld whether [name] is one of the older names, which say so at the end
 */
internal class DumpFtsCommand(
    name: String,
    private val isOld: Boolean,
    private val isMulticastAlone: Boolean,
) : DiscoveringCommand(name, "KGDLs") {
    private val isAll by option("--all", "-a", help = "Show LIDs without an entry, too").flag()
    private val isBrief by option("--no_dests", "-n", help = "Do not show the names of destinations").flag()
    private val isMulticast by option("--Multicast", "-M", help = "Show the multicast tables").flag()
    private val first by argument("startlid", help = "The first LID").convert { lidNumber(it) }.default(0)
    private val last by argument("endlid", help = "The last LID").convert { lidNumber(it) }.default(0)

    override fun help(context: Context) =
        "Show the ${if (isMulticastAlone) "multicast " else ""}forwarding tables of all switches."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName
          ibtool $commandName -n 0x10 0x20
          ibtool $commandName --fabric fat-tree:4
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session, isAsked = true)
        val order = DiscoveryOrder(subnet)
        val destinations = Destinations(subnet, session.names)
        val results = ArrayList<JsonElement>()
        for (node in order.switches) {
            val switch = SwitchOf.found(session, node, order.path(node)) ?: continue
            try {
                show(session, destinations, switch, results)
            } catch (e: MadException) {
                warn("the tables of '${switch.name}' are not known: ${e.message}")
            }
        }
        if (options.json) {
            print(JsonArray(results))
        } else if (isOld) {
            val newer = if (isMulticastAlone) "dump_fts -M" else "dump_fts"
            print("\n*** WARNING ***: this command has been replaced by $newer\n\n\n")
        }
    }

    private suspend fun show(
        session: Session,
        destinations: Destinations,
        switch: SwitchOf,
        results: MutableList<JsonElement>,
    ) {
        if (isMulticast || isMulticastAlone) {
            val table = MulticastTable(session, switch, isAll)
            val rows = table.rows(first, last)
            if (options.json) results.add(table.json(rows)) else print(table.text(rows, isBrief))
        } else {
            val table = UnicastTable(session, switch, isAll, isBrief, destinations)
            val rows = table.rows(first, last)
            if (options.json) results.add(table.json(rows)) else print(table.text(rows))
        }
    }
}
