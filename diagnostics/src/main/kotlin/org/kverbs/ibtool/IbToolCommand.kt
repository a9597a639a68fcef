package org.kverbs.ibtool

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import org.kverbs.console.completion
import org.kverbs.console.offer
import org.kverbs.ibtool.counters.IbQueryErrorsCommand
import org.kverbs.ibtool.counters.PerfQueryCommand
import org.kverbs.ibtool.fabric.IbIdsVerifyCommand
import org.kverbs.ibtool.fabric.IbLinkInfoCommand
import org.kverbs.ibtool.fabric.IbNetDiscoverCommand
import org.kverbs.ibtool.fabric.NodeListCommand
import org.kverbs.ibtool.local.IbAddrCommand
import org.kverbs.ibtool.local.IbStatCommand
import org.kverbs.ibtool.routes.DumpFtsCommand
import org.kverbs.ibtool.routes.IbRouteCommand
import org.kverbs.ibtool.routes.IbTracertCommand
import org.kverbs.ibtool.smp.SmInfoCommand
import org.kverbs.ibtool.smp.SmpDumpCommand
import org.kverbs.ibtool.smp.SmpQueryCommand
import org.kverbs.management.structures.NodeType

/** `ibtool` itself: the list of its commands. */
internal class IbToolCommand : CoreCliktCommand("ibtool") {
    /** The commands under the titles of the help, in its order. */
    val groups: Map<String, List<CoreCliktCommand>> =
        mapOf(
            "This machine" to listOf(IbStatCommand(), IbAddrCommand()),
            "Ask a node" to listOf(SmpQueryCommand(), SmpDumpCommand(), SmInfoCommand(), PerfQueryCommand()),
            "The whole fabric" to
                listOf(IbNetDiscoverCommand(), IbLinkInfoCommand(), IbQueryErrorsCommand(), IbIdsVerifyCommand()) +
                lists(),
            "Routes" to listOf(IbRouteCommand(), IbTracertCommand()) + dumps(),
            "Get help" to listOf(completion("ibtool")),
        )

    init {
        offer(groups)
    }

    override fun help(context: Context) =
        """
        InfiniBand diagnostics: the commands of infiniband-diags in one program.

        Each command takes --fabric FILE or --fabric GENERATOR, such as fat-tree:4, and runs on a simulated fabric
        then, without any hardware.
        """.trimIndent()

    override fun run() = Unit

    private companion object {
        fun dumps() =
            listOf(
                DumpFtsCommand("dump_fts", isOld = false, isMulticastAlone = false),
                DumpFtsCommand("dump_lfts", isOld = true, isMulticastAlone = false),
                DumpFtsCommand("dump_mfts", isOld = true, isMulticastAlone = true),
            )

        fun lists() =
            listOf(
                NodeListCommand("ibnodes", "adapters and switches", listOf(NodeType.CA, NodeType.SWITCH)),
                NodeListCommand("ibhosts", "adapters", listOf(NodeType.CA)),
                NodeListCommand("ibswitches", "switches", listOf(NodeType.SWITCH)),
                NodeListCommand("ibrouters", "routers", listOf(NodeType.ROUTER)),
            )
    }
}
