package org.kverbs.ibtool.ports

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.multiple
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.target
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.structures.MlnxExtPortInfo
import org.kverbs.management.structures.MlnxLinkSpeed
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.NodeType
import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState

/** `ibportstate`: the state of a port and of its link, to look at and to change. */
internal class IbPortStateCommand : DiagnosticCommand("ibportstate") {
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val isForced by option("--force", help = "Set it even if it cuts the way to the port").flag()
    private val address by argument("address", help = "LID, directed path, GUID, GID or name")
    private val port by argument("portnum", help = "The port of the node").convert { portNumber(it) }
    private val words by argument("op", help = "One operation, and fields with their values; query without any")
        .multiple()

    override fun help(context: Context) =
        """
        Show and change the state of a port and of its link.

        Operations: query, enable, disable, on, off, reset, down, arm, active. Fields, each with a value: speed, espeed,
        fdr10, width, vls, mtu, lid, smlid, lmc, mkey, mkeylease, mkeyprot. A mkey that is no number is asked for.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibportstate 3 1
          ibtool ibportstate -D 0 1
          ibtool ibportstate 3 1 reset
          ibtool ibportstate 3 1 speed 1 --dry-run
          ibtool ibportstate -D 0,1 5 lid 0x1234 arm
        """.trimIndent()

    private val results = LinkedHashMap<String, JsonElement>()

    override suspend fun execute(session: Session) {
        val change = PortChange.parse(words) { System.console()?.readPassword("New M_Key: ")?.concatToString() }
        val target = session.target(address)
        val node = session.fabric.get<NodeInfo>(target.path)
        val isSwitch = node.nodeType == NodeType.SWITCH
        if (change.setsKey && isSwitch &&
            port != 0
        ) {
            throw DiagnosticException("Can't set M_Key fields on switch port != 0")
        }
        val kind = if (isSwitch) "Switch" else "CA/RT"
        say(if (change.isQuery) "$kind PortInfo:" else "Initial $kind PortInfo:")
        val here = PortView.of(session, target.path, "$target", node, port)
        show("port", here)
        if (change.isQuery) compare(session, target, here) else change(session, target, here, change)
        if (options.json) print(JsonObject(results))
    }

    private fun say(text: String) {
        if (!options.json) line(text)
    }

    private fun show(
        name: String,
        view: PortView,
    ) {
        results[name] = view.json(options.showsKeys)
        if (!options.json) print(view.text(options.showsKeys) + view.extendedText())
    }

    private suspend fun change(
        session: Session,
        target: Target,
        here: PortView,
        change: PortChange,
    ) {
        val isOn = here.info.portPhysicalState != PortPhysicalState.DISABLED
        if (change.operation == PortOperation.ON && isOn) return say("Port is already in enable state")
        if (!isForced) CutCheck.check(session, target, here, change)
        if (isDry) {
            val text = "set $target port ${here.number}: $change"
            results["would"] = JsonPrimitive(text)
            return say("would $text")
        }
        session.warn("ibportstate: sets $target port ${here.number}: $change")
        val disables = change.operation.physicalState == PortPhysicalState.DISABLED
        if (disables) say("Disable may be irreversible")
        val fdr10 = change[PortSetting.FDR10]
        if (fdr10 != null) setFdr10(session, here, fdr10.toInt())
        val request = change.request(here.info)
        val after = here.with(info = session.fabric.set(here.path, request, here.modifier), extended = null)
        say("\nAfter PortInfo set:")
        show("after", after)
    }

    private suspend fun setFdr10(
        session: Session,
        here: PortView,
        value: Int,
    ) {
        val wanted = MlnxExtPortInfo.of((here.extended ?: MlnxExtPortInfo { }).bytes())
        wanted.stateChangeEnable = FDR10
        wanted.linkSpeedEnabled = MlnxLinkSpeed.of(value)
        val after = here.with(extended = session.fabric.set(here.path, wanted, here.number))
        say("\nAfter MLNXExtendedPortInfo set:")
        if (!options.json) print(after.extendedText())
    }

    /** Shows the other end of the link of a switch's port, and what the two could do better. */
    private suspend fun compare(
        session: Session,
        target: Target,
        here: PortView,
    ) {
        if (!here.isSwitch || here.number == 0 || here.info.portState != PortState.ACTIVE) return
        val path = Way(session, target, here.node).directed() + here.number
        val node = session.fabric.get<NodeInfo>(path)
        val own = session.fabric.port().info.lid
        val address =
            if (target.path is DirectedPath) {
                "${Target(path)}"
            } else {
                "$target DR path slid $own; dlid 65535; 0,${here.number}"
            }
        say("Peer PortInfo:")
        val there = PortView.of(session, path, address, node, node.localPortNum)
        show("peer", there)
        val problems = PeerCheck.problems(here, there)
        problems.forEach { session.warn("ibportstate: $it") }
        results["problems"] = JsonArray(problems.map(::JsonPrimitive))
    }

    private companion object {
        private const val FDR10 = 1
    }
}
