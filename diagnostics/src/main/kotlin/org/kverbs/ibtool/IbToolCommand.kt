package org.kverbs.ibtool

import com.github.ajalt.clikt.core.Context
import com.github.ajalt.clikt.core.CoreCliktCommand
import org.kverbs.console.completion
import org.kverbs.console.offer
import org.kverbs.ibtool.check.CheckCommand
import org.kverbs.ibtool.congestion.IbCcConfigCommand
import org.kverbs.ibtool.congestion.IbCcQueryCommand
import org.kverbs.ibtool.counters.ClearCommand
import org.kverbs.ibtool.counters.IbDataCountersCommand
import org.kverbs.ibtool.counters.IbDataCountsCommand
import org.kverbs.ibtool.counters.IbQueryErrorsCommand
import org.kverbs.ibtool.counters.IbSwPortWatchCommand
import org.kverbs.ibtool.counters.PerfQueryCommand
import org.kverbs.ibtool.fabric.IbCacheEditCommand
import org.kverbs.ibtool.fabric.IbDiscoverCommand
import org.kverbs.ibtool.fabric.IbIdsVerifyCommand
import org.kverbs.ibtool.fabric.IbLinkInfoCommand
import org.kverbs.ibtool.fabric.IbNetDiscoverCommand
import org.kverbs.ibtool.fabric.NodeListCommand
import org.kverbs.ibtool.fabric.PrintNodeCommand
import org.kverbs.ibtool.fabric.SubnetDiffCommand
import org.kverbs.ibtool.health.HealthCommand
import org.kverbs.ibtool.ibcheck.CheckFabricCommand
import org.kverbs.ibtool.ibcheck.CheckPortCommand
import org.kverbs.ibtool.ibcheck.IbCheckErrsCommand
import org.kverbs.ibtool.ibcheck.IbCheckNodeCommand
import org.kverbs.ibtool.ibcheck.PortChecks
import org.kverbs.ibtool.local.IbAddrCommand
import org.kverbs.ibtool.local.IbStatCommand
import org.kverbs.ibtool.manual.ManualCommand
import org.kverbs.ibtool.map.MapCommand
import org.kverbs.ibtool.ports.IbPortStateCommand
import org.kverbs.ibtool.records.SaQueryCommand
import org.kverbs.ibtool.routes.CheckLftBalanceCommand
import org.kverbs.ibtool.routes.DumpFtsCommand
import org.kverbs.ibtool.routes.IbFindNodesUsingCommand
import org.kverbs.ibtool.routes.IbRouteCommand
import org.kverbs.ibtool.routes.IbTracertCommand
import org.kverbs.ibtool.services.IbPingCommand
import org.kverbs.ibtool.services.IbSendTrapCommand
import org.kverbs.ibtool.services.IbSysStatCommand
import org.kverbs.ibtool.services.VendStatCommand
import org.kverbs.ibtool.smp.SmInfoCommand
import org.kverbs.ibtool.smp.SmpDumpCommand
import org.kverbs.ibtool.smp.SmpQueryCommand
import org.kverbs.ibtool.top.TopCommand
import org.kverbs.management.structures.NodeType

/** `ibtool` itself: the list of its commands. */
internal class IbToolCommand : CoreCliktCommand("ibtool") {
    /** The commands under the titles of the help, in its order. */
    val groups: Map<String, List<CoreCliktCommand>> =
        mapOf(
            "This machine" to listOf(IbStatCommand(), IbAddrCommand()),
            "Ask a node" to listOf(SmpQueryCommand(), SmpDumpCommand(), SmInfoCommand(), PerfQueryCommand()),
            "Ports and services" to
                listOf(IbPortStateCommand(), IbPingCommand(), IbSysStatCommand(), VendStatCommand()) +
                listOf(IbCcQueryCommand(), IbCcConfigCommand(), IbSendTrapCommand()),
            "Traffic and errors" to
                listOf(IbDataCountsCommand(), IbDataCountersCommand(), IbSwPortWatchCommand()) + clears(),
            "The subnet administrator" to listOf(SaQueryCommand()),
            "The whole fabric" to
                listOf(IbNetDiscoverCommand(), IbLinkInfoCommand(), IbQueryErrorsCommand(), IbIdsVerifyCommand()) +
                lists() + prints() + listOf(IbDiscoverCommand(), SubnetDiffCommand(), IbCacheEditCommand()),
            "Health" to listOf(HealthCommand(), CheckCommand(), TopCommand(), MapCommand()),
            "Routes" to
                listOf(IbRouteCommand(), IbTracertCommand()) + dumps() +
                listOf(IbFindNodesUsingCommand(), CheckLftBalanceCommand()),
            "Checks of older releases of infiniband-diags" to nodeChecks() + portChecks() + fabricChecks(),
            "Get help" to listOf(completion("ibtool"), ManualCommand(::IbToolCommand)),
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

        fun prints() =
            listOf(
                PrintNodeCommand("ibprintca", "adapter", NodeType.CA),
                PrintNodeCommand("ibprintswitch", "switch", NodeType.SWITCH),
                PrintNodeCommand("ibprintrt", "router", NodeType.ROUTER),
            )

        fun clears() =
            listOf(
                ClearCommand("ibclearcounters", "the counters", ClearCommand.ALL_COUNTERS),
                ClearCommand("ibclearerrors", "the counters of errors", ClearCommand.ERRORS),
            )

        fun nodeChecks() = listOf(IbCheckNodeCommand(), IbCheckErrsCommand())

        fun portChecks() =
            listOf(
                CheckPortCommand("ibcheckport", "state, width and settings of a port", PortChecks.entries),
                CheckPortCommand("ibcheckportstate", "the state of a port", listOf(PortChecks.STATE)),
                CheckPortCommand("ibcheckportwidth", "the width of a port", listOf(PortChecks.WIDTH)),
            )

        fun fabricChecks() =
            listOf(
                CheckFabricCommand("ibchecknet", "the ports and error counters", PortChecks.entries, true),
                CheckFabricCommand("ibcheckstate", "the port states", listOf(PortChecks.STATE), false),
                CheckFabricCommand("ibcheckwidth", "the port widths", listOf(PortChecks.WIDTH), false),
                CheckFabricCommand("ibcheckerrors", "the error counters", emptyList(), true),
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
