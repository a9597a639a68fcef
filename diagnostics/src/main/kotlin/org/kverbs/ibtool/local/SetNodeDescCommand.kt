package org.kverbs.ibtool.local

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import org.kverbs.ibtool.services.LocalHost
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.IbsimPreload
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.ibtool.session.printable
import org.kverbs.ibtool.session.problemOf
import org.kverbs.ibtool.session.target
import org.kverbs.management.path.directed
import org.kverbs.management.port.endPorts
import org.kverbs.management.structures.NodeDescription
import java.io.IOException

/** `set_nodedesc`: says what adapters are called. */
internal class SetNodeDescCommand : DiagnosticCommand("set_nodedesc") {
    private val isDry by option("--dry-run", help = "Say what would be set, and do not do it").flag()
    private val name by argument(
        "name",
        help = "The description, up to 64 bytes; %h is the host's name, %d the device's",
    )
    private val address by argument("address", help = "The node to write to; this machine's adapters without it")
        .optional()

    override fun help(context: Context) =
        """
        Set the description of this machine's adapters, of all or of that of -C, by the kernel.

        With an address it is written to that node by a subnet management packet, which most nodes refuse.
        """.trimIndent()

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool set_nodedesc "%h %d"
          ibtool set_nodedesc -C mlx5_0 "storage 7" --dry-run
          ibtool set_nodedesc "rack 3" -D 0 --fabric hosts:6
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val address = address
        when {
            address != null -> onFabric(session, session.target(address))
            session.simulation != null -> onFabric(session, Target(directed(0)))
            else -> here(session)
        }
    }

    private suspend fun onFabric(
        session: Session,
        target: Target,
    ) {
        val text = named("node")
        val before = session.fabric.get<NodeDescription>(target.path).nodeString
        val what = "set the description of $target, which is '${printable(before)}', to '${printable(text)}'"
        if (isDry) return would(what)
        session.warn("set_nodedesc: ${what.replaceFirst("set", "sets")}")
        val after = session.fabric.set(target.path, NodeDescription { nodeString = text }).nodeString
        if (after != text) throw DiagnosticException("$target keeps '${printable(after)}'")
    }

    private fun here(session: Session) {
        IbsimPreload.prepare()
        val devices = endPorts().distinctBy { it.device }.filter { options.ca == null || it.device == options.ca }
        if (devices.isEmpty()) throw DiagnosticException(IbStatCommand.NOTHING)
        for (device in devices) {
            val text = named(device.device)
            val what =
                "set the description of ${device.device}, which is '${printable(device.nodeDescription.orEmpty())}', " +
                    "to '${printable(text)}'"
            if (isDry) {
                would(what)
                continue
            }
            session.warn("set_nodedesc: ${what.replaceFirst("set", "sets")}")
            try {
                device.describe(text)
            } catch (e: IOException) {
                throw DiagnosticException("the kernel does not take it: ${problemOf(e)}; run it as root", cause = e)
            }
        }
    }

    private fun named(device: String): String = name.replace("%h", LocalHost.host()).replace("%d", device)
}
