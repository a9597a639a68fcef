package org.kverbs.ibtool

import com.github.ajalt.clikt.core.CoreCliktCommand
import org.kverbs.console.completion
import org.kverbs.ibtool.check.CheckCommand
import org.kverbs.ibtool.congestion.IbCcConfigCommand
import org.kverbs.ibtool.congestion.IbCcQueryCommand
import org.kverbs.ibtool.counters.ClearCommand
import org.kverbs.ibtool.counters.IbDataCountersCommand
import org.kverbs.ibtool.counters.IbDataCountsCommand
import org.kverbs.ibtool.counters.IbQueryErrorsCommand
import org.kverbs.ibtool.counters.IbSwPortWatchCommand
import org.kverbs.ibtool.counters.PerfQueryCommand
import org.kverbs.ibtool.decode.DecodeMadCommand
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
import org.kverbs.ibtool.local.IbStatusCommand
import org.kverbs.ibtool.local.IbvDevicesCommand
import org.kverbs.ibtool.local.SetNodeDescCommand
import org.kverbs.ibtool.manual.ManualCommand
import org.kverbs.ibtool.map.MapCommand
import org.kverbs.ibtool.ports.IbPortStateCommand
import org.kverbs.ibtool.ports.InitAllPortsCommand
import org.kverbs.ibtool.ports.SetGuidCommand
import org.kverbs.ibtool.ports.SetPortStateCommand
import org.kverbs.ibtool.query.QueryCommand
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

/** The commands of ibtool. One of them is made for a command line; only the help needs all. */
internal object Commands {
    /** The names of the commands under the titles of the help, in its order. */
    val groups: Map<String, List<String>> =
        mapOf(
            "This machine" to listOf("ibstat", "ibaddr", "ibstatus", "ibv_devices"),
            "Ask a node" to listOf("smpquery", "smpdump", "sminfo", "perfquery", "query"),
            "Ports and services" to
                listOf("ibportstate", "ibping", "ibsysstat", "vendstat", "ibccquery", "ibccconfig", "ibsendtrap"),
            "Write to nodes" to listOf("set_port_state", "init_all_ports", "set_guid", "set_nodedesc"),
            "Traffic and errors" to
                listOf("ibdatacounts", "ibdatacounters", "ibswportwatch", "ibclearcounters", "ibclearerrors"),
            "The subnet administrator" to listOf("saquery"),
            "The whole fabric" to
                listOf("ibnetdiscover", "iblinkinfo", "ibqueryerrors", "ibidsverify") +
                listOf("ibnodes", "ibhosts", "ibswitches", "ibrouters") +
                listOf("ibprintca", "ibprintswitch", "ibprintrt", "ibdiscover", "subnet_diff", "ibcacheedit"),
            "Health" to listOf("health", "check", "top", "map"),
            "Routes" to
                listOf("ibroute", "ibtracert", "dump_fts", "dump_lfts", "dump_mfts") +
                listOf("ibfindnodesusing", "check_lft_balance"),
            "Checks of older releases of infiniband-diags" to
                listOf("ibchecknode", "ibcheckerrs", "ibcheckport", "ibcheckportstate", "ibcheckportwidth") +
                listOf("ibchecknet", "ibcheckstate", "ibcheckwidth", "ibcheckerrors"),
            "Datagrams" to listOf("decode_mad"),
            "Get help" to listOf("completion", "man"),
        )

    /** Makes the command with a name of [groups]. */
    @Suppress("CyclomaticComplexMethod", "LongMethod") // One line for each command.
    fun make(name: String): CoreCliktCommand =
        when (name) {
            "ibstat" -> IbStatCommand()
            "ibaddr" -> IbAddrCommand()
            "ibstatus" -> IbStatusCommand()
            "ibv_devices" -> IbvDevicesCommand()
            "smpquery" -> SmpQueryCommand()
            "smpdump" -> SmpDumpCommand()
            "sminfo" -> SmInfoCommand()
            "perfquery" -> PerfQueryCommand()
            "query" -> QueryCommand()
            "ibportstate" -> IbPortStateCommand()
            "ibping" -> IbPingCommand()
            "ibsysstat" -> IbSysStatCommand()
            "vendstat" -> VendStatCommand()
            "ibccquery" -> IbCcQueryCommand()
            "ibccconfig" -> IbCcConfigCommand()
            "ibsendtrap" -> IbSendTrapCommand()
            "set_port_state" -> SetPortStateCommand()
            "init_all_ports" -> InitAllPortsCommand()
            "set_guid" -> SetGuidCommand()
            "set_nodedesc" -> SetNodeDescCommand()
            "ibdatacounts" -> IbDataCountsCommand()
            "ibdatacounters" -> IbDataCountersCommand()
            "ibswportwatch" -> IbSwPortWatchCommand()
            "ibclearcounters" -> ClearCommand(name, "the counters", ClearCommand.ALL_COUNTERS)
            "ibclearerrors" -> ClearCommand(name, "the counters of errors", ClearCommand.ERRORS)
            "saquery" -> SaQueryCommand()
            "ibnetdiscover" -> IbNetDiscoverCommand()
            "iblinkinfo" -> IbLinkInfoCommand()
            "ibqueryerrors" -> IbQueryErrorsCommand()
            "ibidsverify" -> IbIdsVerifyCommand()
            "ibnodes" -> NodeListCommand(name, "adapters and switches", listOf(NodeType.CA, NodeType.SWITCH))
            "ibhosts" -> NodeListCommand(name, "adapters", listOf(NodeType.CA))
            "ibswitches" -> NodeListCommand(name, "switches", listOf(NodeType.SWITCH))
            "ibrouters" -> NodeListCommand(name, "routers", listOf(NodeType.ROUTER))
            "ibprintca" -> PrintNodeCommand(name, "adapter", NodeType.CA)
            "ibprintswitch" -> PrintNodeCommand(name, "switch", NodeType.SWITCH)
            "ibprintrt" -> PrintNodeCommand(name, "router", NodeType.ROUTER)
            "ibdiscover" -> IbDiscoverCommand()
            "subnet_diff" -> SubnetDiffCommand()
            "ibcacheedit" -> IbCacheEditCommand()
            "health" -> HealthCommand()
            "check" -> CheckCommand()
            "top" -> TopCommand()
            "map" -> MapCommand()
            "ibroute" -> IbRouteCommand()
            "ibtracert" -> IbTracertCommand()
            "dump_fts" -> DumpFtsCommand(name, isOld = false, isMulticastAlone = false)
            "dump_lfts" -> DumpFtsCommand(name, isOld = true, isMulticastAlone = false)
            "dump_mfts" -> DumpFtsCommand(name, isOld = true, isMulticastAlone = true)
            "ibfindnodesusing" -> IbFindNodesUsingCommand()
            "check_lft_balance" -> CheckLftBalanceCommand()
            "ibchecknode" -> IbCheckNodeCommand()
            "ibcheckerrs" -> IbCheckErrsCommand()
            "ibcheckport" -> CheckPortCommand(name, "state, width and settings of a port", PortChecks.entries)
            "ibcheckportstate" -> CheckPortCommand(name, "the state of a port", listOf(PortChecks.STATE))
            "ibcheckportwidth" -> CheckPortCommand(name, "the width of a port", listOf(PortChecks.WIDTH))
            "ibchecknet" -> CheckFabricCommand(name, "the ports and error counters", PortChecks.entries, true)
            "ibcheckstate" -> CheckFabricCommand(name, "the port states", listOf(PortChecks.STATE), false)
            "ibcheckwidth" -> CheckFabricCommand(name, "the port widths", listOf(PortChecks.WIDTH), false)
            "ibcheckerrors" -> CheckFabricCommand(name, "the error counters", emptyList(), true)
            "decode_mad" -> DecodeMadCommand()
            "man" -> ManualCommand { IbToolCommand() }
            "completion" -> completion("ibtool")
            else -> error("ibtool has no command $name")
        }
}
