package org.kverbs.management.check

import org.kverbs.management.subnet.ForwardingTables

/** From which proportion on two ports with equally short ways are unbalanced, without another choice. */
public const val DEFAULT_IMBALANCE: Double = 2.0

/**
 * Follows the forwarding tables from each port of a host or router to each LID of the others, and looks for pairs that
 * do not reach each other, for circles of links that can block each other, and for unevenly used ways.
 *
 * ```
 * val tables = fabric.forwardingTables(fabric.discover())
 * println(tables.checkRoutes())
 * ```
 *
 * It asks the fabric nothing. It reckons on the calling thread, for seconds if there are ten thousand hosts. A fabric
 * that lies does not keep it from ending.
 *
 * @param imbalance how many times as many LIDs a port can carry as another one that is as near, 1 or more
 * @param maxUnreachable how many unreachable pairs are described at most; all are counted
 * @throws IllegalArgumentException if a parameter is out of range
 */
public fun ForwardingTables.checkRoutes(
    imbalance: Double = DEFAULT_IMBALANCE,
    maxUnreachable: Int = 100,
): RouteReport {
    require(imbalance >= 1) { "an imbalance of $imbalance is out of range; give 1 or more" }
    require(maxUnreachable >= 0) { "a limit of $maxUnreachable pairs is out of range; give 0 or more" }
    val graph = RouteGraph(this)
    val walk = RouteWalk(graph, maxUnreachable).also { it.run() }
    val balance = Balance(graph, imbalance).also { it.run() }
    return RouteReport(
        pairs = walk.pairs,
        unreachableCount = walk.unreachableCount,
        circleCount = walk.circleCount,
        unreachable = walk.unreachable,
        hopCounts = walk.hopCounts.toSortedMap(),
        detours = balance.detours,
        creditLoops = CreditLoops(graph, walk.dependencies).find(),
        unbalanced = balance.unbalanced,
        isBalanceKnown = balance.isKnown,
        portsWithoutLid = graph.portsWithoutLid,
    )
}
