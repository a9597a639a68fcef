package org.kverbs.ibtool.records

import org.kverbs.attributes.Gid
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.isNumber
import org.kverbs.ibtool.session.nodesNamed
import org.kverbs.ibtool.session.number
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.target
import org.kverbs.ibtool.session.with
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortCapabilityMask
import org.kverbs.management.structures.PortInfoRecord
import org.kverbs.structures.Guid
import org.kverbs.structures.Structure

private const val COLUMN = 24
private const val MAX_LID = 0xffffL
private const val ENONET = 64
private const val EINVAL = 22

/** The questions of `saquery`, and the answers that are not whole records. */
internal class SaQueries(
    private val session: Session,
) {
    private val sa = session.fabric.sa

    /** Asks for records. */
    suspend fun ask(
        kind: RecordKind,
        assign: (Structure) -> Unit,
    ): List<Structure> = kind.ask(sa) { assign(this) }

    /**
     * Reads an argument such as `3/1`, whose parts are values of [fields]. The first part is a LID, a GID, or the name
     * of a node; parts can be left out. Returns what assigns them.
     */
    suspend fun place(
        fields: List<String>,
        text: String,
    ): (Structure) -> Unit {
        val isGid = fields.first().endsWith("GID")
        val parts = if (isGid) listOf(text) else text.split('/')
        require(parts.size <= fields.size) { "${printable(text)} has more parts than ${fields.joinToString("/")}" }
        val values =
            parts.mapIndexed { index, part ->
                when {
                    part.isEmpty() -> null
                    isGid -> part
                    index == 0 -> lid(part)
                    else -> number(part)
                }
            }
        return { record -> fields.zip(values).forEach { (field, value) -> if (value != null) record[field] = value } }
    }

    private suspend fun lid(text: String): Long {
        if (isNumber(text)) {
            val number = number(text)
            if (number !in 0..MAX_LID) {
                throw DiagnosticException("Invalid lid specified: \"${printable(text)}\"", EINVAL)
            }
            return number
        }
        return try {
            session.target(text).lid.toLong()
        } catch (e: DiagnosticException) {
            throw DiagnosticException("Failed to find lid for \"${printable(text)}\": ${e.message}", ENONET, e)
        }
    }

    /** The path between two LIDs or names, `1:3`, or between two GIDs, `fe80::1-fe80::2`. */
    suspend fun path(
        lids: String?,
        gids: String?,
        assign: (RecordKind, Structure) -> Unit,
    ): List<Structure> {
        val text = checkNotNull(lids ?: gids)
        val ends = if (lids != null) text.split(':') else text.split('-')
        require(ends.size == 2) { "${printable(text)} does not name two ends" }
        val (from, to) = if (lids != null) ends.map { lid(it) } else ends.map { Gid.parse(it) }
        return ask(RecordKind.PATH) {
            it[if (lids != null) "slid" else "sgid"] = from
            it[if (lids != null) "dlid" else "dgid"] = to
            assign(RecordKind.PATH, it)
        }
    }

    /** The nodes that [what] is about. */
    suspend fun nodes(
        what: NodeAnswer,
        of: String?,
    ): List<NodeRecord> {
        if (what == NodeAnswer.LIST) return sa.records<NodeRecord> { nodeInfo.nodeType = NodeType.CA }
        requireNotNull(of) { "${what.names.last()} needs the node: a name, or for -O a LID and for -U a GUID" }
        return when (what) {
            NodeAnswer.NAME_OF_LID -> sa.records<NodeRecord> { this["lid"] = number(of) }
            NodeAnswer.NAME_OF_GUID -> sa.records<NodeRecord> { nodeInfo.portGUID = Guid(number(of)) }
            else -> session.nodesNamed(of)
        }
    }

    /** The lines of [nodes]. */
    fun text(
        what: NodeAnswer,
        nodes: List<NodeRecord>,
    ): String =
        when (what) {
            NodeAnswer.LIDS -> nodes.lines { "${it.lid.value}" }
            NodeAnswer.LID -> nodes.take(1).lines { "${it.lid.value}" }
            NodeAnswer.GUIDS -> nodes.lines { long(it.nodeInfo.portGUID.value) }
            NodeAnswer.NAME_OF_LID, NodeAnswer.NAME_OF_GUID -> nodes.take(1).lines(::name)
            NodeAnswer.LIST -> LIST_HEAD + nodes.lines { "%6d  \"%s\"".with(it.lid.value, name(it)) }
        }

    private fun <T> List<T>.lines(line: (T) -> String) = joinToString("") { line(it) + "\n" }

    private fun name(record: NodeRecord) = session.names.of(record.nodeInfo.nodeGUID, record.nodeDescription)

    /** The ports that have a subnet manager, and those that could, with a title each. */
    suspend fun managers(): List<Pair<String, List<PortInfoRecord>>> {
        val ports = sa.records<PortInfoRecord>()
        return listOf("IsSM" to PortCapabilityMask.IsSM, "IsSMdisabled" to PortCapabilityMask.IsSMDisabled).map {
            "${it.first} ports" to ports.filter { port -> it.second in port.portInfo.capabilityMask }
        }
    }

    /** The lines of a port that has a subnet manager. */
    fun text(record: PortInfoRecord): String =
        Rows("PortInfoRecord dump:", COLUMN)
            .row("EndPortLid", record.endportLID.value)
            .row("PortNum", record.portNum)
            .row("base_lid", record.portInfo.lid.value)
            .row("master_sm_base_lid", record.portInfo.masterSMLID.value)
            .row("capability_mask", upper(record.portInfo.raw("capabilityMask", 4)))
            .toString()

    /** Multicast groups and their members; those of [group] alone, which is a LID or a GID. */
    suspend fun groups(
        group: String?,
        assign: (Structure) -> Unit,
    ): List<MCMemberRecord> =
        sa.records<MCMemberRecord> {
            if (group != null && ':' in group) mgid = Gid.parse(group)
            if (group != null && ':' !in group) this["mlid"] = number(group)
            assign(this)
        }

    /** The lines of multicast groups. */
    fun groupText(groups: List<MCMemberRecord>): String =
        groups.joinToString("") {
            Rows("MCMemberRecord group dump:", COLUMN)
                .row("MGID", it.mgid.toCompactString())
                .row("Mlid", upper(it.mlid.value))
                .row("Mtu", upper(it.raw("mtuSelector", 1)))
                .row("pkey", upper(it.raw("pKey", 2)))
                .row("Rate", upper(it.raw("rateSelector", 1)))
                .row("SL", upper(it.sl))
                .toString()
        }

    /** The lines of members; of one group a line each. */
    suspend fun memberText(
        members: List<MCMemberRecord>,
        isOneGroup: Boolean,
    ): String =
        members
            .map { member ->
                val name =
                    if (member.portGID.interfaceId() ==
                        0L
                    ) {
                        UNKNOWN
                    } else {
                        nameOf(Guid(member.portGID.interfaceId()))
                    }
                val gid = member.portGID.toCompactString()
                if (isOneGroup) return@map "\t\tPortGid.................$gid ($name)\n"
                Rows("MCMemberRecord member dump:", COLUMN)
                    .row("MGID", member.mgid.toCompactString())
                    .row("Mlid", upper(member.mlid.value))
                    .row("PortGid", gid)
                    .row("ScopeState", upper(member.raw("scope", 1)))
                    .row("ProxyJoin", upper(member.raw("proxyJoin", 1) shr 7))
                    .row("NodeDescription", name)
                    .toString()
            }.joinToString("")

    private suspend fun nameOf(port: Guid): String =
        sa.records<NodeRecord> { nodeInfo.portGUID = port }.firstOrNull()?.let(::name) ?: UNKNOWN

    private companion object {
        private const val UNKNOWN = "<unknown>"
        private const val LIST_HEAD = "   LID \"name\"\n================\n"
    }
}
