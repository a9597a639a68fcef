package org.kverbs.ibtool.check

import org.kverbs.ibtool.counters.PortReadings
import org.kverbs.management.check.MulticastTree
import org.kverbs.management.check.NameDiff
import org.kverbs.management.check.Partitions
import org.kverbs.management.check.RouteReport
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.SubnetProblem
import org.kverbs.management.subnet.SubnetRoute

/** What `check` found out. What was not asked for is null. */
internal class CheckReport(
    val routes: RouteReport? = null,
    val multicast: List<Group>? = null,
    val partitions: Partitions? = null,
    val difference: NameDiff? = null,
    val way: Way? = null,
    val problems: List<SubnetProblem> = emptyList(),
) {
    /** A multicast group: its tree, and the members that are not at it. */
    class Group(
        val tree: MulticastTree,
        val missing: List<SubnetPort>,
    ) {
        val isGood: Boolean get() = tree.isTree && missing.isEmpty()
    }

    /** A route, and the counters of its ports. */
    class Way(
        val route: SubnetRoute,
        val readings: PortReadings,
    )

    /** Whether something is wrong. */
    val isBad: Boolean
        get() =
            routes?.isClean == false || multicast.orEmpty().any { !it.isGood } || difference?.isEmpty == false ||
                way?.route?.isComplete == false || problems.isNotEmpty() ||
                partitions?.problems.orEmpty().isNotEmpty()
}
