package org.kverbs.ibtool.smp

/** The attributes that `smpquery` asks for, by their names and aliases in infiniband-diags. */
internal enum class SmpOperation(
    val title: String,
    val alias: String,
    val ask: suspend (SmpQuery) -> SmpAnswer,
) {
    NODE_INFO("NodeInfo", "NI", SmpQuery::nodeInfo),
    NODE_DESCRIPTION("NodeDesc", "ND", SmpQuery::nodeDescription),
    PORT_INFO("PortInfo", "PI", SmpQuery::portInfo),
    PORT_INFO_EXTENDED("PortInfoExtended", "PIE", SmpQuery::portInfoExtended),
    SWITCH_INFO("SwitchInfo", "SI", SmpQuery::switchInfo),
    PARTITION_KEYS("PKeyTable", "PKeys", { SmpTables(it).partitionKeys() }),
    SL_TO_VL("SL2VLTable", "SL2VL", { SmpTables(it).virtualLanes() }),
    VL_ARBITRATION("VLArbitration", "VLArb", { SmpTables(it).arbitration() }),
    GUIDS("GUIDInfo", "GI", { SmpTables(it).guids() }),
    MLNX_EXT_PORT_INFO("MlnxExtPortInfo", "MEPI", SmpQuery::mlnxExtPortInfo),
}
