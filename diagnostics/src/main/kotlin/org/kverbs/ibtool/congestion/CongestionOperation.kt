package org.kverbs.ibtool.congestion

/** The attributes of congestion control, by their names and aliases in infiniband-diags. */
internal enum class CongestionOperation(
    val title: String,
    val alias: String,
    val ask: suspend (CongestionQuery) -> CongestionReport,
    val change: (suspend (CongestionChange) -> CongestionReport)? = null,
) {
    CLASS_PORT_INFO("ClassPortInfo", "CP", CongestionQuery::classPortInfo),
    INFO("CongestionInfo", "CI", CongestionQuery::info),
    KEY_INFO("CongestionKeyInfo", "CK", CongestionQuery::keyInfo, CongestionChange::keyInfo),
    LOG("CongestionLog", "CL", CongestionQuery::log),
    SWITCH_SETTING("SwitchCongestionSetting", "SS", CongestionQuery::switchSetting, CongestionChange::switchSetting),
    PORT_SETTING("SwitchPortCongestionSetting", "SP", CongestionQuery::portSettings, CongestionChange::portSetting),
    CA_SETTING("CACongestionSetting", "CS", CongestionQuery::caSetting, CongestionChange::caSetting),
    CONTROL_TABLE("CongestionControlTable", "CT", CongestionQuery::controlTable, CongestionChange::controlTable),
    TIMESTAMP("Timestamp", "TI", CongestionQuery::timestamp),
    ;

    companion object {
        /** Finds one by its name or alias in any case. */
        fun named(text: String): CongestionOperation? =
            entries.firstOrNull { it.title.equals(text, ignoreCase = true) || it.alias.equals(text, ignoreCase = true) }
    }
}
