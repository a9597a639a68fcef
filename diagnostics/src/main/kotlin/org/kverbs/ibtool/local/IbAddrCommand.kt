package org.kverbs.ibtool.local

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.parameters.arguments.argument
import com.github.ajalt.clikt.parameters.arguments.convert
import com.github.ajalt.clikt.parameters.arguments.optional
import com.github.ajalt.clikt.parameters.options.flag
import com.github.ajalt.clikt.parameters.options.option
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.kverbs.attributes.Gid
import org.kverbs.ibtool.session.DiagnosticCommand
import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.hex
import org.kverbs.ibtool.session.portNumber
import org.kverbs.ibtool.session.self
import org.kverbs.ibtool.session.target
import org.kverbs.management.structures.NodeInfo
import org.kverbs.management.structures.PortInfo

/** `ibaddr`: the GID and the LIDs of a port. */
internal class IbAddrCommand : DiagnosticCommand("ibaddr", "KL") {
    private val showsGid by option("--gid_show", "-g", help = "Show the GID").flag()
    private val showsLids by option("--lid_show", "-l", help = "Show the LIDs").flag()
    private val showsDecimal by option("--Lid_show", "-L", help = "Show the LIDs as decimal numbers").flag()
    private val address by argument(
        "address",
        help = "LID, directed path, GUID, GID or name; this port without it",
    ).optional()
    private val port by argument("portnum", help = "The port of the node").convert { portNumber(it) }.optional()

    override fun help(context: Context) = "Show the GID and the LIDs of a port."

    override fun helpEpilog(context: Context) =
        """
        Examples:
          ibtool ibaddr
          ibtool ibaddr -L 32
          ibtool ibaddr -D 0,1
        """.trimIndent()

    override suspend fun execute(session: Session) {
        val address = address
        val target = if (address == null) session.self() else session.target(address)
        val number = port ?: if (address == null) session.fabric.port().node.localPortNum else 0
        val node = session.get<NodeInfo>(target.path)
        val info = session.get<PortInfo>(target.path, number)
        val gid = Gid(info.gidPrefix, node.portGUID.value).toCompactString()
        val first = info.lid.value
        val last = first + (1 shl info.lmc) - 1
        if (options.json) {
            print(
                buildJsonObject {
                    put("gid", gid)
                    put("firstLid", first)
                    put("lastLid", last)
                },
            )
            return
        }
        val all = !showsGid && !showsLids && !showsDecimal
        if (all || showsGid) print("GID $gid ")
        when {
            showsDecimal -> print("LID start $first end $last")
            all || showsLids -> print("LID start 0x${hex(first)} end 0x${hex(last)}")
        }
        line()
    }
}
