package org.kverbs.ibtool.session

import org.kverbs.management.fabric.resolve
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid

private const val LONGEST = 1000
private const val SHOWN = 40
private val hops = Regex("\\d{1,3}(,\\d{1,3})*")
private val bareNumber = Regex("0[xX]\\p{XDigit}{1,16}|\\d{1,20}")
private const val GUID_DIGITS = 14
private const val MOST_SHOWN = 10

/**
 * Finds the port that [text] names. With `-D`, `-L` or `-G` it is a directed path, a LID or a port GUID. Without them
 * its form says what it is: `0,1,4`, `12`, `0002:c903:0000:1491`, a GID, the fields of a path, or the description or
 * mapped name of a node. With `--sa-path` the subnet administrator says the path.
 *
 * @throws DiagnosticException if the text is none of these, if several nodes have the name, or if the subnet
 *   administrator does not know the port
 */
internal suspend fun Session.target(text: String): Target {
    val target = Target(find(text))
    return if (options.saPath) byAdministrator(target) else target
}

private suspend fun Session.find(text: String): MadPath {
    val shown = printable(text)

    // The pattern of hops takes the stack for each of them.
    if (text.length > LONGEST) {
        throw DiagnosticException(
            "can't resolve destination port ${shown.take(SHOWN)}...: it has ${text.length} characters",
        )
    }

    fun unresolved(): Nothing = throw DiagnosticException("can't resolve destination port $shown")
    return try {
        when {
            options.isDirect -> if (hops.matches(text)) directedPath(text) else unresolved()
            options.isGuid -> byGuid(number(text))
            options.isLid -> lidPath(text)
            ',' in text && hops.matches(text) -> directedPath(text)
            bareNumber.matches(text) && text.length >= GUID_DIGITS -> byGuid(number(text))
            bareNumber.matches(text) -> lidPath(text)
            else -> byForm(text) ?: byName(text) ?: unresolved()
        }
    } catch (e: IllegalArgumentException) {
        throw DiagnosticException("can't resolve destination port $shown: ${e.message}", cause = e)
    }
}

/** The port of this program itself. */
internal fun Session.self(): Target {
    val lid = fabric.port().info.lid
    return Target(if (lid.isUnicast) LidPath(lid) else directed(0))
}

/** The path to the same port for general services, which need a LID. */
internal suspend fun Session.byLid(target: Target): Target =
    if (target.path is DirectedPath) {
        val lid = get<PortInfo>(target.path).lid
        if (!lid.isUnicast) throw DiagnosticException("$target has no LID: no subnet manager has given it one")
        Target(LidPath(lid))
    } else {
        target
    }

private suspend fun Session.byAdministrator(target: Target): Target {
    val path =
        when (val path = target.path) {
            is LidPath -> path
            is DirectedPath -> LidPath(records.lid(path))
        }
    return Target(fabric.sa.path(path).path.copy(source = null))
}

private fun directedPath(text: String): MadPath {
    val numbers = text.split(',').map { it.toInt() }
    return DirectedPath(if (numbers.first() == 0) numbers else listOf(0) + numbers)
}

private fun lidPath(text: String): MadPath {
    val number = number(text)
    require(number in 1..MAX_LID) { "$number is not a LID; give 1 to 0xbfff" }
    return lid(number.toInt())
}

private const val MAX_LID = 0xbfffL

private suspend fun Session.byGuid(guid: Long): MadPath {
    require(guid != 0L) { "a GUID is not zero" }
    return resolved("${Guid(guid)}")
}

/** The path that the text says by its form; null for other text, such as the name of a node with colons in it. */
private suspend fun Session.byForm(text: String): MadPath? =
    try {
        resolved(text)
    } catch (_: IllegalArgumentException) {
        null
    }

/** The LID of this end is the fabric's own matter: it depends on the port that sends. */
private suspend fun Session.resolved(text: String): MadPath =
    when (val path = fabric.resolve(text)) {
        is LidPath -> path.copy(source = null)
        is DirectedPath -> path
    }

/** The records of the nodes that have the name: in the name map, or else as their description. */
internal suspend fun Session.nodesNamed(name: String): List<NodeRecord> {
    val mapped = names.guids(name).flatMap { guid -> fabric.sa.records<NodeRecord> { nodeInfo.nodeGUID = guid } }
    val described =
        fabric.sa
            .records<NodeRecord> { nodeDescription.nodeString = name }
            .filter { names.of(it.nodeInfo.nodeGUID, it.nodeDescription) == name }
    return (mapped + described).distinct()
}

private suspend fun Session.byName(name: String): MadPath? {
    val nodes = nodesNamed(name).groupBy { it.nodeInfo.nodeGUID }
    if (nodes.size > 1) throw ambiguous(name, nodes.values.map { it.first() })
    // Each port of an adapter has a record; the first one stands for the node.
    return nodes.values
        .firstOrNull()
        ?.minBy { it.nodeInfo.localPortNum }
        ?.let { LidPath(it.lid) }
}

private fun ambiguous(
    name: String,
    nodes: List<NodeRecord>,
): Exception {
    val shown = nodes.sortedBy { it.lid.value }.take(MOST_SHOWN)
    val all = shown.joinToString { "LID ${it.lid} (port GUID 0x${hex16(it.nodeInfo.portGUID.value)})" }
    val more = if (nodes.size > MOST_SHOWN) " and ${nodes.size - MOST_SHOWN} more" else ""
    return DiagnosticException("${nodes.size} nodes have the name ${printable(name)}: give one of $all$more")
}
