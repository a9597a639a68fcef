package org.kverbs.ibtool.check

import org.kverbs.ibtool.counters.readCounters
import org.kverbs.management.check.MulticastTree
import org.kverbs.management.check.checkRoutes
import org.kverbs.management.check.compareByName
import org.kverbs.management.check.multicastTrees
import org.kverbs.management.check.partitions
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.structures.MCMemberRecord
import org.kverbs.management.subnet.ForwardingTables
import org.kverbs.management.subnet.Subnet
import org.kverbs.management.subnet.SubnetPort
import org.kverbs.management.subnet.forwardingTables
import org.kverbs.management.transaction.MadClosedException
import org.kverbs.management.transaction.MadException
import org.kverbs.management.transport.MadTransportException
import org.kverbs.structures.Guid
import org.kverbs.structures.Lid

/**
 * Checks a fabric as the options wish.
 *
 * @param warn gets what could not be found out
 * @param tables where the forwarding tables come from
 */
internal class FabricChecks(
    private val fabric: Fabric,
    private val subnet: Subnet,
    private val tables: suspend (hasMulticast: Boolean) -> ForwardingTables = { fabric.forwardingTables(subnet, it) },
    private val warn: (String) -> Unit,
) {
    /** The parts that can be left out. */
    enum class Part(
        val key: String,
    ) {
        ROUTES("routes"),
        MULTICAST("multicast"),
        PARTITIONS("partitions"),
    }

    /** Checks everything but [skipped], and compares the fabric with the [expected] one. */
    suspend fun all(
        skipped: Set<Part>,
        imbalance: Double,
        most: Int,
        expected: Subnet?,
    ): CheckReport {
        val hasMulticast = Part.MULTICAST !in skipped
        val found =
            if (Part.ROUTES in skipped && !hasMulticast) null else tables(hasMulticast)
        return CheckReport(
            routes = if (Part.ROUTES in skipped) null else found?.checkRoutes(imbalance, most),
            multicast = if (hasMulticast) found?.let { groups(it) } else null,
            partitions = if (Part.PARTITIONS in skipped) null else fabric.partitions(subnet),
            difference = expected?.let(subnet::compareByName),
            problems = subnet.problems + found?.problems.orEmpty(),
        )
    }

    /** Follows the tables from a port to a LID, with the counters of the ports on the way. */
    suspend fun way(
        from: SubnetPort,
        to: Lid,
    ): CheckReport {
        val found = tables(false)
        val route = found.route(from, to)
        val ports = route.hops.flatMap { listOf(it.out, it.into) }.distinct()
        val readings = fabric.readCounters(ports.filter { it.number > 0 })
        return CheckReport(way = CheckReport.Way(route, readings), problems = found.problems)
    }

    private suspend fun groups(tables: ForwardingTables): List<CheckReport.Group> {
        val trees = tables.multicastTrees()
        val members = if (trees.isEmpty()) emptyMap() else members()
        return trees.map { CheckReport.Group(it, missing(it, members[it.lid].orEmpty())) }
    }

    private fun missing(
        tree: MulticastTree,
        members: List<SubnetPort>,
    ): List<SubnetPort> {
        val reached = tree.ends.toSet()
        return members.filter { if (it.node.isSwitch) it.node !in tree.switches else it !in reached }
    }

    private suspend fun members(): Map<Lid, List<SubnetPort>> {
        val ends = subnet.ports.filter { (it.number == 0) == it.node.isSwitch }.associateBy { it.guid }
        return try {
            fabric.sa
                .records<MCMemberRecord>()
                .groupBy({ it.mlid }, { ends[Guid(it.portGID.interfaceId())] })
                .mapValues { (_, ports) -> ports.filterNotNull().distinct() }
        } catch (e: MadClosedException) {
            throw e
        } catch (e: MadException) {
            unknown(e)
        } catch (e: MadTransportException) {
            unknown(e)
        }
    }

    private fun unknown(e: Exception): Map<Lid, List<SubnetPort>> {
        warn("the members of multicast groups are not known: ${e.message}")
        return emptyMap()
    }
}
