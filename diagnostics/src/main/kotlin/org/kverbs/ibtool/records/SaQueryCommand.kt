package org.kverbs.ibtool.records

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import org.kverbs.ibtool.query.Secrets
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.with
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.structures.ClassPortInfo
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.SAStatus
import org.kverbs.management.transaction.MadClassException
import org.kverbs.structures.Structure
import org.kverbs.structures.toJson

/** `saquery`: the records of the subnet administrator. */
internal class SaQueryCommand : DiagnosticCommand("saquery", "DLGsy") {
    private val kinds =
        listOf(
            Triple("-p", RecordKind.PATH, "paths"),
            Triple("-N", RecordKind.NODE, "nodes"),
            Triple("-x", RecordKind.LINK, "links"),
            Triple("-S", RecordKind.SERVICE, "services"),
            Triple("-I", RecordKind.INFORM, "subscriptions"),
        ).map { (letter, kind, what) -> kind to option(letter, help = "Show $what").flag().also(::registerOption) }
    private val answers =
        NodeAnswer.entries.associateWith { option(*it.names, help = it.help).flag().also(::registerOption) }
    private val isClass by option("-c", help = "Show what the administrator says of itself").flag()
    private val isManagers by option("-s", help = "Show the ports that have a subnet manager, or can have one").flag()
    private val isGroups by option("-g", help = "Show multicast groups").flag()
    private val isMembers by option("-m", help = "Show the members of multicast groups, or of one: -m 0xc000").flag()
    private val lids by option("--src-to-dst", metavar = "SRC:DST", help = "Show the path between two LIDs or names")
    private val gids by option("--sgid-to-dgid", metavar = "SGID-DGID", help = "Show the path between two GIDs")
    private val key by option("--smkey", metavar = "KEY", help = "The key of the subnet manager").convert { number(it) }
    private val parts =
        QueryPart.entries.associateWith {
            option(*it.names.toTypedArray(), metavar = "VALUE", help = it.help).also(::registerOption)
        }
    private val words by argument(
        "query",
        help =
            "The name of a query and what it asks for, FIELD=VALUE to choose records, or a node: its LID or name. " +
                RecordKind.entries.joinToString { "${it.title} (${it.alias})" },
    ).multiple()

    override fun help(context: Context) = "Ask the subnet administrator for its records: of nodes without a query."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool saquery
          ibtool saquery PIR 3/1
          ibtool saquery -L "host 17"
          ibtool saquery --src-to-dst 1:3
          ibtool saquery PathRecord sgid=fe80::10:1 dlid=3
          ibtool saquery NR nodeInfo.nodeType=SWITCH
        """.trimIndent()

    override fun FabricBuilder.configure() {
        key?.let { saKey(it) }
    }

    override suspend fun execute(session: Session) {
        try {
            val queries = SaQueries(session)
            val places = words.filter { Assignment.parse(it) == null }
            when {
                isClass || isClassName(places) -> show(session.classPortInfo())
                isManagers -> managers(queries)
                isGroups || isMembers -> groups(queries, places.firstOrNull())
                lids != null || gids != null -> show(queries.path(lids, gids, ::assignParts))
                answer() != null -> answer(queries, places)
                else -> records(queries, places)
            }
        } catch (e: MadClassException) {
            val name = "SA(SA_ERR_${SAStatus.of(e.classStatus).toString().substringBefore('(')})"
            throw DiagnosticException("Query result returned 0x%02x00, %s".with(e.classStatus, name), EIO, e)
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("${e.message}", DiagnosticException.USAGE, e)
        }
    }

    private fun isClassName(places: List<String>) = places.firstOrNull()?.uppercase() in setOf("CPI", "CLASSPORTINFO")

    private suspend fun Session.classPortInfo(): ClassPortInfo =
        fabric.get(fabric.sa.path, mgmtClass = ManagementClass.SUBN_ADM)

    private fun assignParts(
        kind: RecordKind,
        record: Structure,
    ) {
        for ((part, option) in parts) {
            val text = option.value ?: continue
            val field =
                requireNotNull(part.fields[kind]) { "${kind.title} has nothing that ${part.names.first()} asks for" }
            part.assign(record, field, text)
        }
        words.mapNotNull { Assignment.parse(it) }.forEach { it.on(record) }
    }

    private suspend fun records(
        queries: SaQueries,
        places: List<String>,
    ) {
        val chosen = kinds.firstOrNull { it.second.value }?.first
        val named = places.firstOrNull()?.let { RecordKind.of(it) }
        val kind = chosen ?: named ?: RecordKind.NODE
        val rest = if (chosen == null && named != null) places.drop(1) else places
        require(rest.size <= kind.places.size) {
            "${kind.title} takes ${kind.places.size} places, and not ${rest.joinToString(" ") { printable(it) }}"
        }
        val at = kind.places.zip(rest).map { (fields, text) -> queries.place(fields, text) }
        show(
            queries.ask(kind) { record ->
                at.forEach { it(record) }
                assignParts(kind, record)
            },
        )
    }

    private fun answer() = answers.entries.firstOrNull { it.value.value }?.key

    private suspend fun answer(
        queries: SaQueries,
        places: List<String>,
    ) {
        val what = checkNotNull(answer())
        val nodes = queries.nodes(what, places.firstOrNull())
        if (options.json) {
            print(json(nodes))
        } else {
            print(queries.text(what, nodes))
        }
    }

    private suspend fun managers(queries: SaQueries) {
        val groups = queries.managers()
        if (options.json) return print(json(groups.flatMap { it.second }))
        print(
            groups.joinToString("\n") { (title, ports) ->
                "$title\n" +
                    ports.joinToString("", transform = queries::text)
            },
        )
    }

    private suspend fun groups(
        queries: SaQueries,
        group: String?,
    ) {
        val found = queries.groups(group) { assignParts(RecordKind.MEMBER, it) }
        if (options.json) return show(found)
        print(if (isGroups) queries.groupText(found) else queries.memberText(found, group != null))
    }

    private fun show(records: List<Structure>) {
        if (options.json) return print(json(records))
        val text = RecordText(options.showsKeys)
        records.forEach { print(text.of(it)) }
    }

    private fun json(records: List<Structure>): JsonElement {
        val all = JsonArray(records.map { it.toJson() })
        return if (options.showsKeys) all else Secrets.withoutHiddenBySaquery(all)
    }

    private fun show(info: ClassPortInfo) {
        if (options.json) print(info.toJson()) else print(RecordText(options.showsKeys).of(info))
    }

    private companion object {
        private const val EIO = 5
    }
}
