package org.kverbs.ibtool.fabric

import org.kverbs.management.structures.NodeType
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.subnet.SubnetPort

/** What two topologies differ in, in ibnetdiscover's form: `<` before the older one's lines, `>` before the newer's. */
internal class TopologyDifference(
    private val older: DiscoveryOrder,
    private val newer: DiscoveryOrder,
    private val checks: Set<Check>,
    private val text: TopologyText,
) {
    /** What is compared, by the names of `--diffcheck`. */
    enum class Check(
        val key: String,
    ) {
        SWITCH("sw"),
        CA("ca"),
        ROUTER("router"),
        PORT("port"),
        LID("lid"),
        DESCRIPTION("nodedesc"),
        ;

        companion object {
            /** What is compared without `--diffcheck`. */
            val default = setOf(SWITCH, CA, ROUTER, PORT)
        }
    }

    fun print(): String =
        buildString {
            if (Check.SWITCH in checks) compare(NodeType.SWITCH)
            if (Check.CA in checks) compare(NodeType.CA)
            if (Check.ROUTER in checks) compare(NodeType.ROUTER)
        }

    private fun StringBuilder.compare(type: NodeType) {
        val olderNodes = older.nodes(type)
        val newerNodes = newer.nodes(type)
        val byGuid = newer.nodes.associateBy { it.guid }
        val known = older.nodes.map { it.guid }.toSet()
        for (node in olderNodes) {
            val same = byGuid[node.guid]
            if (same == null) whole(node, OLDER) else compare(node, same)
        }
        newerNodes.filter { it.guid !in known }.forEach { whole(it, NEWER) }
    }

    private fun StringBuilder.whole(
        node: SubnetNode,
        prefix: String,
    ) {
        append(text.node(node, prefix, prefix))
        node.ports.filter { it.number > 0 }.forEach { append(text.port(it, prefix)) }
    }

    private fun StringBuilder.compare(
        old: SubnetNode,
        new: SubnetNode,
    ) {
        if (checks.none { it in setOf(Check.PORT, Check.LID, Check.DESCRIPTION) }) return
        val isMoved = Check.LID in checks && old.isSwitch && lid(old) != lid(new)
        val isRenamed = Check.DESCRIPTION in checks && !isSameName(old, new)
        var hasHead = isMoved || isRenamed
        if (hasHead) append(text.node(old, "", OLDER)).append(text.detail(new, NEWER)).append('\n')

        fun head() {
            if (!hasHead) append(text.node(old))
            hasHead = true
        }
        if (old.portCount != new.portCount) {
            head()
            append("${OLDER}numports = ${old.portCount}\n${NEWER}numports = ${new.portCount}\n")
            return
        }
        for (number in 1..old.portCount) {
            val (here, there) = differences(old.port(number), new.port(number))
            if (here) {
                head()
                old.port(number)?.let { append(text.port(it, OLDER)) }
            }
            if (there) {
                head()
                new.port(number)?.let { append(text.port(it, NEWER)) }
            }
        }
    }

    /** Whether the line of the older port is printed, and that of the newer one. */
    private fun differences(
        old: SubnetPort?,
        new: SubnetPort?,
    ): Pair<Boolean, Boolean> {
        if (old == null || new == null) return connection(old, new)
        val both = old.peer != null && new.peer != null
        val isOther =
            (Check.LID in checks && old.lid != new.lid) ||
                (Check.PORT in checks && both && isOtherPeer(checkNotNull(old.peer), checkNotNull(new.peer)))
        return if (isOther) true to true else connection(old, new)
    }

    private fun connection(
        old: SubnetPort?,
        new: SubnetPort?,
    ): Pair<Boolean, Boolean> =
        when {
            Check.PORT !in checks -> false to false
            old == null || new == null -> (old != null) to (new != null)
            old.peer == null || new.peer == null -> (old.peer != null) to (new.peer != null)
            else -> (old.guid != new.guid || old.peer?.guid != new.peer?.guid).let { it to it }
        }

    private fun isOtherPeer(
        old: SubnetPort,
        new: SubnetPort,
    ): Boolean =
        (Check.DESCRIPTION in checks && !isSameName(old.node, new.node)) ||
            (Check.LID in checks && old.lid != new.lid)

    private fun isSameName(
        old: SubnetNode,
        new: SubnetNode,
    ) = old.nodeDescription.bytes().contentEquals(new.nodeDescription.bytes())

    private fun lid(node: SubnetNode) = node.port(0)?.lid

    private companion object {
        private const val OLDER = "< "
        private const val NEWER = "> "
    }
}
