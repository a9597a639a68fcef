package org.kverbs.ibtool.counters

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import org.kverbs.ibtool.fabric.DiscoveringCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.Watch
import org.kverbs.management.path.LidPath
import org.kverbs.management.subnet.SubnetNode
import org.kverbs.management.transaction.MadException

/** `ibdatacounters`: the traffic of all ports. */
internal class IbDataCountersCommand : DiscoveringCommand("ibdatacounters", "DGLK") {
    override fun help(context: Context) = "Show the traffic of all ports of the fabric."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibdatacounters
          ibtool ibdatacounters --json
          ibtool ibdatacounters --fabric hosts:8
        """.trimIndent()

    private val watch = Watch(this)
    private val results = ArrayList<JsonElement>()

    override suspend fun execute(session: Session): Unit = watch.run(session, ::showGrowth) { look(session) }

    private suspend fun look(session: Session) {
        results.clear()
        val nodes = EveryPort.nodes(subnet(session, isAsked = true))
        val bad = nodes.count { !isShown(session, it) }
        if (options.json) {
            print(JsonArray(results))
        } else {
            line("\n## Summary: ${nodes.size} nodes checked, $bad bad nodes found")
            line("##          ${nodes.sumOf { EveryPort.linked(it).size }} ports checked")
        }
        if (bad > 0 && results.isEmpty()) {
            session.warn("$commandName: no port has told its counters")
            throw ProgramResult(DiagnosticException.FAILED)
        }
    }

    private suspend fun isShown(
        session: Session,
        node: SubnetNode,
    ): Boolean =
        EveryPort
            .addresses(node)
            .map { (lid, port) ->
                try {
                    if (!lid.isUnicast) throw DiagnosticException("no subnet manager has given it a LID")
                    show(DataCounters.of(PortCountersQuery(session, Target(LidPath(lid))), port))
                    true
                } catch (e: MadException) {
                    isBad(session, node, e)
                } catch (e: DiagnosticException) {
                    isBad(session, node, e)
                }
            }.all { it }

    private fun isBad(
        session: Session,
        node: SubnetNode,
        e: Exception,
    ): Boolean {
        session.warn("$commandName: ${session.names.of(node)}: ${e.message}")
        return false
    }

    private fun show(counters: DataCounters) {
        results += counters.json()
        if (!options.json) print("$counters")
    }
}
