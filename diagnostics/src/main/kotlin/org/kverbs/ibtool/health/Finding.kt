package org.kverbs.ibtool.health

import org.kverbs.management.subnet.SubnetPort

/**
 * Something that is wrong with the fabric.
 *
 * @property check the check that found it
 * @property text a sentence in printable ASCII characters
 * @property port the port that it is about, or null
 */
internal class Finding(
    val check: Check,
    val severity: Severity,
    val text: String,
    val port: SubnetPort? = null,
) {
    /** The parts of the report, with their names in options, texts and metrics. */
    enum class Check(
        val key: String,
    ) {
        NODES("nodes"),
        IDENTITIES("identities"),
        MANAGER("manager"),
        LINKS("links"),
        COUNTERS("counters"),
        ROUTES("routes"),
    }
}
