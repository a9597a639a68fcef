package org.kverbs.ibtool.health

import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.management.check.RouteReport
import org.kverbs.management.subnet.Subnet

/**
 * The health of a fabric.
 *
 * @property readings the counters, or null if they were not asked for
 * @property routes what is known of the routes, or null if that was not asked for
 * @property managers how many subnet managers say that they are the master
 * @property skipped the checks that were left out
 */
internal class HealthReport(
    val subnet: Subnet,
    val findings: List<Finding>,
    val readings: PortReadings?,
    val routes: RouteReport?,
    val managers: Int,
    val skipped: Set<Finding.Check>,
) {
    val severity: Severity get() = findings.maxOfOrNull { it.severity } ?: Severity.OK

    fun count(severity: Severity): Int = findings.count { it.severity == severity }

    fun count(
        check: Finding.Check,
        severity: Severity,
    ): Int = findings.count { it.check == check && it.severity == severity }

    val slowLinks: Int get() = subnet.links.count { it.isSlowerThanEnabled }
    val narrowLinks: Int get() = subnet.links.count { it.isNarrowerThanEnabled }
}
