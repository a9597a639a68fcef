package org.kverbs.ibtool.query

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.UsageError
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.multiple
import com.github.ajalt.clikt.parameters.options.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import org.kverbs.ibtool.records.Assignment
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.int
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.ibtool.session.with
import org.kverbs.management.fabric.FabricBuilder
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.ManagementClass
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.described
import org.kverbs.structures.DynamicStructure
import org.kverbs.structures.Structure
import org.kverbs.structures.StructureDescription
import org.kverbs.structures.dotted
import org.kverbs.structures.dump
import org.kverbs.structures.toJson

/** `query`: any attribute that the method Get asks for, and all records of the subnet administrator. */
internal class QueryCommand : DiagnosticCommand("query") {
    private val isList by option("--list", help = "Show the attributes that can be asked for").flag()
    private val isFields by option("--fields", help = "Show the fields of the attribute").flag()
    private val isDump by option("--dump", help = "Show each 32-bit word with its fields").flag()
    private val mgmtClass by option("--class", metavar = "N", help = "The class, of attributes that several have: 0x04")
        .convert { ManagementClass.of(int(it)) }
    private val modifier by option("--modifier", metavar = "N", help = "The attribute modifier").convert { int(it) }
    private val key by option("--smkey", metavar = "KEY", help = "The key of the subnet manager").convert { number(it) }
    private val words by argument(
        "words",
        help =
            "The attribute, such as NodeInfo, NI or NodeRecord; the node to ask and the attribute modifier, if no " +
                "record is asked for; and FIELD=VALUE for fields of the question",
    ).multiple()

    override fun help(context: Context) =
        """
        Ask for any attribute, or for records of the subnet administrator.

        Without a node this port is asked. Of records all are shown whose fields are as FIELD=VALUE says.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool query --list
          ibtool query NodeInfo 4
          ibtool query PortInfo -D 0,1 3
          ibtool query PortCounters 4 portSelect=1
          ibtool query ClassPortInfo 4 --class 0x04
          ibtool query PathRecord slid=1 dlid=5
          ibtool query PathRecord --fields
        """.trimIndent()

    override fun FabricBuilder.configure() {
        key?.let { saKey(it) }
    }

    override suspend fun execute(session: Session) {
        val places = words.filter { Assignment.parse(it) == null }
        try {
            val name = places.firstOrNull()
            if (isList) return list(name)
            if (name == null) throw UsageError("name the attribute to ask for; --list shows all")
            val structure = AttributeNames.find(name)
            when {
                isFields -> fields(structure)
                AttributeNames.isRecord(structure) -> records(session, structure, places.drop(1))
                else -> show(listOf(attribute(session, structure, places.drop(1))))
            }
        } catch (e: IllegalArgumentException) {
            throw DiagnosticException("${e.message}", DiagnosticException.USAGE, e)
        }
    }

    private fun list(part: String?) {
        val all = AttributeNames.all.filter { part == null || it.name.contains(part, ignoreCase = true) }
        if (options.json) print(AttributeText.listJson(all)) else print(AttributeText.list(all))
    }

    private fun fields(structure: StructureDescription) =
        if (options.json) print(AttributeText.fieldsJson(structure)) else print(AttributeText.fields(structure))

    private suspend fun records(
        session: Session,
        structure: StructureDescription,
        places: List<String>,
    ) {
        require(places.isEmpty()) {
            "the subnet administrator answers ${structure.name}, and no node: say by FIELD=VALUE which records, not " +
                places.joinToString(" ") { printable(it) }
        }
        show(session.fabric.sa.getTableDynamic(described.type(structure.name).query { assign(this) }))
    }

    private suspend fun attribute(
        session: Session,
        structure: StructureDescription,
        places: List<String>,
    ): Structure {
        checkClass(structure)
        require(places.size <= 2) { "${structure.name} takes a node and a modifier, not ${places.size} words" }
        val asked = places.firstOrNull()?.let { session.target(it).path } ?: session.here()
        val path = if (isForDirectedPaths(structure)) asked else session.routed(asked)
        val number = places.getOrNull(1)?.let { int(it) } ?: modifier ?: 0
        return session.fabric.getDynamic(described.type(structure.name), path, number, mgmtClass) { assign(this) }
    }

    /** The attribute of one class. The two classes of subnet management count as one: the path chooses. */
    private fun checkClass(structure: StructureDescription) {
        val classes = structure.attributes.flatMap { it.classes }.map { if (it == DIRECTED) BY_LID else it }.distinct()
        require(mgmtClass != null || classes.size == 1) {
            val names = classes.joinToString { "--class 0x%02x".with(it) + " (" + ManagementClass.of(it) + ")" }
            "several classes have ${structure.name}; choose one: $names"
        }
    }

    private fun isForDirectedPaths(structure: StructureDescription): Boolean {
        val wanted = mgmtClass
        val classes = structure.attributes.flatMap { it.classes }
        return if (wanted == null) DIRECTED in classes else wanted.value == DIRECTED
    }

    private fun assign(question: DynamicStructure) =
        words.mapNotNull { Assignment.parse(it) }.forEach { it.on(question) }

    private fun Session.here(): MadPath {
        val lid = fabric.port().info.lid
        return if (lid.isUnicast) LidPath(lid) else DirectedPath(emptyList())
    }

    /** The LID at the end of a directed path, which no other class than subnet management takes. */
    private suspend fun Session.routed(path: MadPath): MadPath {
        if (path is LidPath) return path
        val lid = get<PortInfo>(path).lid
        require(lid.isUnicast) { "the port at $path has no LID, and only subnet management takes directed paths" }
        return LidPath(lid)
    }

    private fun show(found: List<Structure>) {
        val hides = !options.showsKeys
        if (options.json) {
            val json = JsonArray(found.map { it.toJson() })
            return print(if (hides) Secrets.without(json) else json)
        }
        if (isDump && hides && found.any { Secrets.has(it.description) }) warn("query: keys are shown as 0 without -K")
        val texts = found.map { if (isDump) (if (hides) Secrets.without(it) else it).dump() else dotted(it, hides) }
        print(texts.joinToString("\n") { text -> text.lines().joinToString("\n", transform = ::shown) })
    }

    private fun dotted(
        structure: Structure,
        hides: Boolean,
    ): String = structure.dotted().let { if (hides) Secrets.hidden(it, structure.description) else it }

    /** Tabs stand before the lines of flags. */
    private fun shown(line: String): String {
        val text = line.trimStart('\t')
        return "\t".repeat(line.length - text.length) + printable(text)
    }

    private companion object {
        private val BY_LID = ManagementClass.SUBN_LID_ROUTED.value
        private val DIRECTED = ManagementClass.SUBN_DIRECTED_ROUTE.value
    }
}
