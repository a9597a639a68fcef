package org.kverbs.ibtool.counters

import org.kverbs.ibtool.session.printable

/** The error counters of a port in the order of `ibqueryerrors`, by their names in the output and as fields. */
internal object ErrorCounters {
    const val WAIT = "PortXmitWait"
    const val RELAY = "PortRcvSwitchRelayErrors"
    const val DISCARDS = "PortXmitDiscards"
    const val RECEIVED = "PortRcvErrors"

    private val fields =
        mapOf(
            "SymbolErrorCounter" to "symbolErrorCounter",
            "LinkErrorRecoveryCounter" to "linkErrorRecoveryCounter",
            "LinkDownedCounter" to "linkDownedCounter",
            RECEIVED to "portRcvErrors",
            "PortRcvRemotePhysicalErrors" to "portRcvRemotePhysicalErrors",
            RELAY to "portRcvSwitchRelayErrors",
            DISCARDS to "portXmitDiscards",
            "PortXmitConstraintErrors" to "portXmitConstraintErrors",
            "PortRcvConstraintErrors" to "portRcvConstraintErrors",
            "LocalLinkIntegrityErrors" to "localLinkIntegrityErrors",
            "ExcessiveBufferOverrunErrors" to "excessiveBufferOverrunErrors",
            "VL15Dropped" to "vl15Dropped",
            WAIT to "portXmitWait",
        )

    val names: Set<String> get() = fields.keys

    /**
     * The counters that [list] names, separated by commas.
     *
     * @throws IllegalArgumentException if there is none with a name
     */
    fun named(list: String): Set<String> =
        list.split(',').filter { it.isNotEmpty() }.toSet().onEach {
            require(it in names) { "${printable(it)} is no error counter; there are ${names.joinToString()}" }
        }

    /** The field of a counter, in PortCounters and in PortCountersExtended. */
    fun field(name: String): String = fields.getValue(name)

    private val traffic =
        listOf("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts").associateWith {
            it.replaceFirstChar(Char::lowercase)
        }
    private val casts =
        listOf("PortUnicastXmitPkts", "PortUnicastRcvPkts", "PortMulticastXmitPkts", "PortMulticastRcvPkts")
            .associateWith { it.replaceFirstChar(Char::lowercase) }

    /** The counters of traffic and their fields; with [hasCasts] those of unicast and multicast, too. */
    fun traffic(hasCasts: Boolean): Map<String, String> = if (hasCasts) traffic + casts else traffic
}
