package org.kverbs.ibtool.ports

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import com.github.ajalt.clikt.parameters.types.enum
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo
import org.kverbs.management.structures.PortState

/** `set_port_state`: brings a port into a state. */
internal class SetPortStateCommand : DiagnosticCommand("set_port_state", "K") {
    /** The states of a command line, by the operations that lead there. */
    private enum class Wanted(
        val operation: PortOperation,
    ) {
        DOWN(PortOperation.DOWN),
        ARMED(PortOperation.ARM),
        ACTIVE(PortOperation.ACTIVE),
        POLLING(PortOperation.ENABLE),
        DISABLED(PortOperation.DISABLE),
    }

    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val isForced by option("--force", help = "Set it even if it cuts the way to the port").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of the node").convert { portNumber(it) }
    private val wanted by argument("state", help = "down, armed, active, polling or disabled").enum<Wanted>()

    override fun help(context: Context) =
        """
        Bring a port into a state: down, armed or active; or its link: polling or disabled.

        A port in the state Initialize becomes active by way of armed. ibportstate sets other fields, too.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool set_port_state 3 1 active
          ibtool set_port_state -D 0,1 5 disabled --dry-run
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val target = session.target(address)
        val node = session.fabric.get<NodeInfo>(target.path)
        var here = PortView.of(session, target.path, "$target", node, port)
        val before = state(here.info)
        val changes = changes(here)
        if (!isForced) changes.forEach { CutCheck.check(session, target, here, it) }
        val text = "set $target port $port: ${changes.joinToString(", then ")}"
        if (isDry) return would(text)
        session.warn("set_port_state: sets $target port $port: ${changes.joinToString(", then ")}")
        for (change in changes) {
            here = here.with(info = session.fabric.set(here.path, change.request(here.info), here.modifier))
        }
        val after = state(here.info)
        if (options.json) {
            print(
                buildJsonObject {
                    put("address", "$target")
                    put("port", port)
                    put("before", before)
                    put("after", after)
                },
            )
        } else {
            line("$target port $port: $before before, $after now")
        }
    }

    private fun changes(here: PortView): List<PortChange> {
        val isFar = wanted == Wanted.ACTIVE && here.info.portState == PortState.INIT
        return listOfNotNull(PortOperation.ARM.takeIf { isFar }, wanted.operation).map(PortChange::of)
    }

    private fun state(info: PortInfo): String = "${info.portState}, ${info.portPhysicalState}"
}
