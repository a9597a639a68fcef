package org.kverbs.ibtool.ibcheck

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.ProgramResult
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import kotlinx.serialization.json.putJsonArray
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.byLid
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.transaction.MadException

/** `ibcheckport`, `ibcheckportstate` and `ibcheckportwidth`: one port. */
internal class CheckPortCommand(
    name: String,
    private val what: String,
    private val checks: List<PortChecks>,
) : DiagnosticCommand(name, "DKLes") {
    @Suppress("unused") // There are no colours.
    private val isPlain by option("-N", "--nocolor", help = "Does nothing: there are no colours").flag()
    private val address by argument("address", help = "LID, GUID, GID or name")
    private val port by argument("port", help = "The number of the port").convert { portNumber(it) }

    override fun help(context: Context) = "Check $what. The exit status is 255 if something is wrong."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool $commandName 2 1
          ibtool $commandName -v -G 0x2c90200000010 1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val target = session.byLid(session.target(address))
        val where = "Port check lid ${target.lid} port $port"
        val faults =
            try {
                val node = session.get<NodeInfo>(target.path)
                val info = session.get<PortInfo>(target.path, modifier = port)
                val isOfSwitch = node.nodeType == NodeType.SWITCH && port > 0
                val own = if (isOfSwitch) session.get<PortInfo>(target.path) else info
                checks.flatMap { it.faults(if (it == PortChecks.SETTINGS) own else info) }
            } catch (e: MadException) {
                listOf("${e.message}")
            }
        if (options.json) {
            print(
                buildJsonObject {
                    put("lid", target.lid)
                    put("port", port)
                    putJsonArray("faults") { faults.forEach { add(JsonPrimitive(it)) } }
                },
            )
        } else {
            faults.forEach { line("#warn: $it lid ${target.lid} port $port") }
            if (faults.isNotEmpty()) {
                line("$where:  FAILED")
            } else if (options.verbose > 0) {
                line("$where:  OK")
            }
        }
        if (faults.isNotEmpty()) throw ProgramResult(FAILED)
    }

    private companion object {
        private const val FAILED = 255
    }
}
