package org.kverbs.ibtool.counters

import org.kverbs.management.structures.PortExtendedSpeedsCounters
import org.kverbs.management.structures.PortFlowCtlCounters
import org.kverbs.management.structures.PortOpRcvCounters
import org.kverbs.management.structures.PortRcvConCtrl
import org.kverbs.management.structures.PortRcvDataSL
import org.kverbs.management.structures.PortRcvErrorDetails
import org.kverbs.management.structures.PortSLRcvBECN
import org.kverbs.management.structures.PortSLRcvFECN
import org.kverbs.management.structures.PortVLOpData
import org.kverbs.management.structures.PortVLOpPackets
import org.kverbs.management.structures.PortVLXmitFlowCtlUpdateErrors
import org.kverbs.management.structures.PortVLXmitTimeCong
import org.kverbs.management.structures.PortVLXmitWaitCounters
import org.kverbs.management.structures.PortXmitConCtrl
import org.kverbs.management.structures.PortXmitDataSL
import org.kverbs.management.structures.PortXmitDiscardDetails
import org.kverbs.management.structures.SwPortVLCongestion

/**
 * Counters of a port beside the usual ones.
 *
 * @property title the name in the output
 * @property names the options that ask for them
 */
internal enum class CounterKind(
    val title: String,
    val counters: PortAttribute<*>,
    val help: String,
    vararg val names: String,
) {
    XMIT_SL("PortXmitDataSL", PortAttribute(PortXmitDataSL), "Data sent by service level", "--xmtsl", "-X"),
    RCV_SL("PortRcvDataSL", PortAttribute(PortRcvDataSL), "Data received by service level", "--rcvsl", "-S"),
    DISCARDS(
        "PortXmitDiscardDetails",
        PortAttribute(PortXmitDiscardDetails),
        "Why packets were discarded",
        "--xmtdisc",
        "-D",
    ),
    ERRORS("PortRcvErrorDetails", PortAttribute(PortRcvErrorDetails), "Why packets were in error", "--rcverr", "-E"),
    SPEEDS(
        "PortExtendedSpeedsCounters",
        PortAttribute(PortExtendedSpeedsCounters),
        "Errors by lane",
        "--extended_speeds",
        "-T",
    ),
    OP_RCV("PortOpRcvCounters", PortAttribute(PortOpRcvCounters), "Packets received by operation", "--oprcvcounters"),
    FLOW_CONTROL(
        "PortFlowCtlCounters",
        PortAttribute(PortFlowCtlCounters),
        "Flow control packets",
        "--flowctlcounters",
    ),
    VL_PACKETS(
        "PortVLOpPackets",
        PortAttribute(PortVLOpPackets),
        "Packets by operation and virtual lane",
        "--vloppackets",
    ),
    VL_DATA("PortVLOpData", PortAttribute(PortVLOpData), "Data by operation and virtual lane", "--vlopdata"),
    VL_FLOW_ERRORS(
        "PortVLXmitFlowCtlUpdateErrors",
        PortAttribute(PortVLXmitFlowCtlUpdateErrors),
        "Errors of flow control by virtual lane",
        "--vlxmitflowctlerrors",
    ),
    VL_WAIT(
        "PortVLXmitWaitCounters",
        PortAttribute(PortVLXmitWaitCounters),
        "Ticks waited to send, by virtual lane",
        "--vlxmitcounters",
    ),
    VL_CONGESTION(
        "SwPortVLCongestion",
        PortAttribute(SwPortVLCongestion),
        "Congestion of a switch's port by virtual lane",
        "--swportvlcong",
    ),
    RCV_CONGESTION("PortRcvConCtrl", PortAttribute(PortRcvConCtrl), "Congestion control: received", "--rcvcc"),
    FECN("PortSLRcvFECN", PortAttribute(PortSLRcvFECN), "FECN received by service level", "--slrcvfecn"),
    BECN("PortSLRcvBECN", PortAttribute(PortSLRcvBECN), "BECN received by service level", "--slrcvbecn"),
    XMIT_CONGESTION("PortXmitConCtrl", PortAttribute(PortXmitConCtrl), "Congestion control: sent", "--xmitcc"),
    VL_TIME_CONGESTION(
        "PortVLXmitTimeCong",
        PortAttribute(PortVLXmitTimeCong),
        "Time congested by virtual lane",
        "--vlxmittimecc",
    ),
}
