package org.kverbs.ibtool.session

import org.kverbs.attributes.Gid
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.directed
import org.kverbs.management.path.lid
import org.kverbs.management.structures.NodeRecord
import org.kverbs.management.structures.PortInfo
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

private const val DEFAULT_PREFIX = -0x0180000000000000L
private val hops = Regex("\\d{1,3}(,\\d{1,3})*")
private val bareNumber = Regex("0[xX]\\p{XDigit}{1,16}|\\d{1,20}")
private val groups = Regex("\\p{XDigit}{1,4}(:\\p{XDigit}{1,4}){3}")
private const val GUID_DIGITS = 14

/**
 * Finds the port that [text] names. With `-D`, `-L` or `-G` it is a directed path, a LID or a port GUID. Without them
 * its form says what it is: `0,1,4`, `12`, `0002:c903:0000:1491`, a GID, or the description or mapped name of a node.
 *
 * @throws DiagnosticException if the text is none of these, or the subnet administrator does not know the port
 */
internal suspend fun Session.target(text: String): Target {
    val shown = printable(text)

    fun unresolved(): Nothing = throw DiagnosticException("can't resolve destination port $shown")
    return try {
        when {
            options.isDirect -> if (hops.matches(text)) directedTarget(text) else unresolved()
            options.isGuid -> byGuid(Guid(number(text)))
            options.isLid -> byLid(text)
            ',' in text && hops.matches(text) -> directedTarget(text)
            groups.matches(text) -> byGuid(Guid.parse(text))
            bareNumber.matches(text) && text.length >= GUID_DIGITS -> byGuid(Guid(number(text)))
            bareNumber.matches(text) -> byLid(text)
            ':' in text -> byGid(Gid.parse(text))
            else -> byName(text) ?: unresolved()
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
        val lid = fabric.get<PortInfo>(target.path).lid
        if (!lid.isUnicast) throw DiagnosticException("$target has no LID: no subnet manager has given it one")
        Target(LidPath(lid))
    } else {
        target
    }

private fun directedTarget(text: String): Target {
    val numbers = text.split(',').map { it.toInt() }
    return Target(DirectedPath(if (numbers.first() == 0) numbers else listOf(0) + numbers))
}

private fun byLid(text: String): Target {
    val number = number(text)
    require(number in 1..MAX_LID) { "$number is not a LID; give 1 to 0xbfff" }
    return Target(lid(number.toInt()))
}

private const val MAX_LID = 0xbfffL

private suspend fun Session.byGuid(guid: Guid): Target {
    require(guid.value != 0L) { "a GUID is not zero" }
    val prefix = fabric.port().info.gidPrefix
    return byGid(Gid(if (prefix == 0L) DEFAULT_PREFIX else prefix, guid.value))
}

private suspend fun Session.byGid(gid: Gid): Target = Target(fabric.sa.path(gid).path.copy(source = null))

private suspend fun Session.byName(name: String): Target? {
    val mapped = names.guid(name)
    val records =
        fabric.sa.records<NodeRecord> {
            if (mapped != null) nodeInfo.nodeGUID = mapped else nodeDescription.nodeString = name
        }
    return records.firstOrNull()?.let { Target(LidPath(Lid(it.lid.value))) }
}
