package org.kverbs.ibtool.counters

import org.kverbs.management.structures.PortCounters

/** The counters of a port at one moment, by the names of infiniband-diags. */
internal class CounterSample(
    counters: PortCounters,
) {
    val values: Map<String, Long> =
        counters.description.fields
            .mapNotNull { field -> field.label?.let { it to field.name } }
            .filter { (label, _) -> label in NAMES }
            .associate { (label, name) -> label to counters[name] as Long }

    companion object {
        /** The counters of traffic. */
        val TRAFFIC = listOf("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts")

        /** The counters that tell of a bad link or of congestion as they grow. */
        val LIMITED =
            listOf("SymbolErrorCounter", "LinkErrorRecoveryCounter", "PortRcvErrors", "LocalLinkIntegrityErrors") +
                "PortXmitDiscards"
        private val NAMES =
            LIMITED + listOf("LinkDownedCounter", "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors") +
                listOf("PortXmitConstraintErrors", "PortRcvConstraintErrors", "ExcessiveBufferOverrunErrors") +
                listOf("VL15Dropped") + TRAFFIC

        suspend fun of(
            query: PortCountersQuery,
            port: Int,
        ): CounterSample = CounterSample(query.plain(port))
    }
}
