package org.kverbs.management.check

/**
 * What [checkRoutes] found out about the routes of a subnet.
 *
 * @property pairs how many pairs of a sending port and a LID of another port were followed
 * @property unreachableCount how many of them do not arrive
 * @property circleCount how many of them are led in a circle
 * @property unreachable the first of those that do not arrive, at most as many as [checkRoutes] was told
 * @property hopCounts how many pairs arrive after how many switches
 * @property detours how many entries of forwarding tables lead away from the shortest way. Routings that avoid
 *   credit loops, such as up/down, have such entries on purpose.
 * @property creditLoops circles of links that can block each other. Circles that share a link count once, and there
 *   are at most 64. They are reckoned as if all packets were on one virtual lane: a routing that separates circles
 *   by virtual lanes has circles here that cannot block.
 * @property unbalanced one for each switch whose equally short ways are used unevenly
 * @property isBalanceKnown whether the fabric was small enough to compare the ways; if not, [unbalanced] is empty and
 *   [detours] is 0
 * @property portsWithoutLid how many ports of hosts and routers are linked with a switch and have no LID. No pair of
 *   theirs could be followed.
 */
public class RouteReport internal constructor(
    public val pairs: Long,
    public val unreachableCount: Long,
    public val circleCount: Long,
    public val unreachable: List<UnreachablePair>,
    public val hopCounts: Map<Int, Long>,
    public val detours: Long,
    public val creditLoops: List<CreditLoop>,
    public val unbalanced: List<UnbalancedPorts>,
    public val isBalanceKnown: Boolean,
    public val portsWithoutLid: Int,
) {
    /**
     * Whether each port has a LID, each pair arrives, and nothing can block or is unbalanced, as far as [isBalanceKnown].
     */
    public val isClean: Boolean
        get() = portsWithoutLid == 0 && unreachableCount == 0L && creditLoops.isEmpty() && unbalanced.isEmpty()

    /** Returns the numbers of pairs, of those that do not arrive, of credit loops and of unbalanced switches. */
    override fun toString(): String =
        "$pairs pairs, $unreachableCount unreachable, ${creditLoops.size} credit loops, " +
            "${unbalanced.size} unbalanced switches" +
            if (portsWithoutLid > 0) ", $portsWithoutLid ports without a LID" else ""
}
