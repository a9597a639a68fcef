package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.path.LidPath
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.transaction.MadException
import org.kverbs.structures.Lid

/**
 * `ibclearcounters` and `ibclearerrors`: set the counters of all ports to zero.
 *
 * @param what the counters in words
 * @param bits which counters they are
 */
internal class ClearCommand(
    name: String,
    private val what: String,
    private val bits: Long,
) : DiscoveringCommand(name, "DGLK") {
    private val isDry by option("--dry-run", help = "Say what would be set to zero, and do not do it").flag()

    override fun help(context: Context) = "Set $what of all ports of the fabric to zero."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName
          ibtool $commandName --dry-run
          ibtool $commandName --fabric hosts:8
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val subnet = subnet(session, isAsked = true)
        session.requireWhole()
        val nodes = EveryPort.nodes(subnet)
        if (!isDry) session.warn("$commandName: sets $what of ${nodes.size} nodes to zero")
        val results = nodes.map { cleared(session, it) }
        val errors = results.count { false in it }
        if (options.json) {
            print(
                buildJsonObject {
                    put("nodes", nodes.size)
                    put("errors", errors)
                    if (isDry) put("would", "set $what of all ports of ${nodes.size} nodes to zero")
                },
            )
        } else if (!isDry) {
            line("\n## Summary: ${nodes.size} nodes cleared $errors errors")
        }
        if (errors > 0 && results.none { true in it }) throw DiagnosticException("$what of no port were set to zero")
    }

    /** Whether each question to a node worked. */
    private suspend fun cleared(
        session: Session,
        node: SubnetNode,
    ): List<Boolean> = EveryPort.addresses(node).map { (lid, port) -> clear(session, node, lid, port) }

    private suspend fun clear(
        session: Session,
        node: SubnetNode,
        lid: Lid,
        port: Int,
    ): Boolean {
        if (!lid.isUnicast) {
            session.warn("$commandName: ${session.names.of(node)}: it has no LID")
            return false
        }
        val target = Target(LidPath(lid))
        if (isDry) {
            if (!options.json) line("would set $what of $target port $port to zero")
            return true
        }
        return try {
            val query = PortCountersQuery(session, target)
            query.begin()
            query.reset(port, bits or additional(query), false)
            true
        } catch (e: MadException) {
            session.warn("$commandName: ${session.names.of(node)}: ${e.message}")
            false
        }
    }

    /** The bits of the counters that not all nodes have, if all counters are meant. */
    private fun additional(query: PortCountersQuery): Long {
        if (bits != ALL_COUNTERS) return 0
        val waits = if (query.mask and PortCountersQuery.XMIT_WAIT != 0) WAITS else 0
        return waits or if (query.mask and PortCountersQuery.QP1_DROP != 0) DROPS else 0
    }

    companion object {
        /** The counters of errors. */
        const val ERRORS = 0x0fffL

        /** All counters. */
        const val ALL_COUNTERS = 0xffffL
        private const val WAITS = 0x10000L
        private const val DROPS = 0x20000L
    }
}
