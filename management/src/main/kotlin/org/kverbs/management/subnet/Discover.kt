package org.kverbs.management.subnet

import kotlinx.coroutines.Job
import org.kverbs.management.fabric.Fabric
import org.kverbs.management.sa.RecordedAttributes

/** The most nodes that a discovery takes in without another choice: more than a subnet has LIDs. */
public const val DEFAULT_MAX_NODES: Int = 100_000

/** The most ports that a discovery takes in without another choice. */
public const val DEFAULT_MAX_PORTS: Int = 2_000_000

/**
 * Discovers all nodes, ports and links of the subnet by directed routes, breadth first. It needs no subnet manager.
 *
 * As many questions wait for an answer at once as the fabric has outstanding requests. A port that does not answer
 * takes the time of all its retries, is reported in [Subnet.problems], and is passed over. So is what cannot be true.
 * A fabric that pretends to have nodes without end stops at the limits, with a problem of the kind
 * [SubnetProblemKind.LIMIT].
 *
 * Cancellation: the discovery ends at once, and what it found is lost.
 *
 * @param maxNodes how many nodes are taken in at most
 * @param maxPorts how many ports are taken in at most
 * @param stop ends the discovery when it completes: the result is what was found until then, with a problem of the kind
 *   [SubnetProblemKind.STOPPED]
 * @param progress is called after each node and each timeout, one call at a time, in the caller's context. The
 *   discovery waits for a slow one. What it throws ends the discovery.
 * @return what was found
 * @throws org.kverbs.management.transaction.MadException if the port of the fabric itself does not answer, or if the
 *   fabric is closed meanwhile
 * @throws IllegalStateException if the port of the fabric says of itself what cannot be, or if the fabric is closed
 *   meanwhile, just before a question
 * @throws org.kverbs.management.transport.MadTransportException if the transport can send nothing at all
 */
public suspend fun Fabric.discover(
    maxNodes: Int = DEFAULT_MAX_NODES,
    maxPorts: Int = DEFAULT_MAX_PORTS,
    stop: Job? = null,
    progress: ((DiscoveryProgress) -> Unit)? = null,
): Subnet {
    require(maxNodes > 0) { "a discovery takes in at least one node, not $maxNodes" }
    require(maxPorts > 0) { "a discovery takes in at least one port, not $maxPorts" }
    return Discovery(NodeAnswers(this), FoundSubnet(maxNodes, maxPorts), stop, progress).run()
}

/**
 * Asks the subnet administrator for all nodes, ports and links, in four requests. It is quicker than [discover] and
 * troubles no switch, but tells only what the subnet manager knows: no ports without LIDs, and no `PortInfoExtended`.
 *
 * The paths of the nodes are directed routes over the links that the administrator knows. A node without a link is
 * reported in [Subnet.problems] and not in [Subnet.nodes]. Otherwise the result is as that of [discover].
 *
 * @param maxNodes how many nodes are taken in at most
 * @param maxPorts how many ports are taken in at most
 * @throws org.kverbs.management.transaction.MadException if the administrator does not answer, or refuses
 * @throws org.kverbs.management.transport.MadTransportException if the port knows no subnet manager
 * @throws IllegalStateException if the administrator does not know this port, or says of it what cannot be
 */
public suspend fun Fabric.discoverBySa(
    maxNodes: Int = DEFAULT_MAX_NODES,
    maxPorts: Int = DEFAULT_MAX_PORTS,
): Subnet {
    require(maxNodes > 0) { "a discovery takes in at least one node, not $maxNodes" }
    require(maxPorts > 0) { "a discovery takes in at least one port, not $maxPorts" }
    val answers = RecordAnswers.fetch(this)
    val found = FoundSubnet(maxNodes, maxPorts)
    return Discovery(answers, found).run { found.reportMissing(answers.links.guids, "no link leads to this node") }
}

/**
 * Discovers all nodes, ports and links of the subnet by LIDs, breadth first. The switches hand the packets on by their
 * forwarding tables, not by a directed route. So the discovery also shows that the tables lead to each node and back,
 * and the processors of the switches on the way have no work.
 *
 * The LIDs and the links come from the subnet administrator, in two requests, because no node tells the LIDs of its
 * neighbours. The nodes themselves say what they are, and the state of their ports. A port that does not answer takes
 * the time of all its retries, is reported in [Subnet.problems], and is passed over. So is a node that the
 * administrator knows and the discovery did not reach. Otherwise the result is as that of [discover]. The paths of the
 * nodes are directed routes.
 *
 * Cancellation: the discovery ends at once, and what it found is lost.
 *
 * @param maxNodes how many nodes are taken in at most
 * @param maxPorts how many ports are taken in at most
 * @param stop ends the discovery when it completes, as in [discover]
 * @param progress is called after each node and each timeout, one call at a time, in the caller's context. The
 *   discovery waits for a slow one. What it throws ends the discovery.
 * @throws org.kverbs.management.transaction.MadException if the administrator or the port of the fabric itself does not
 *   answer, or if the fabric is closed meanwhile
 * @throws org.kverbs.management.transport.MadTransportException if the port knows no subnet manager, or if the
 *   transport can send nothing at all
 * @throws IllegalStateException if the administrator does not know this port, or if the port says of itself what cannot
 *   be
 */
public suspend fun Fabric.discoverByLid(
    maxNodes: Int = DEFAULT_MAX_NODES,
    maxPorts: Int = DEFAULT_MAX_PORTS,
    stop: Job? = null,
    progress: ((DiscoveryProgress) -> Unit)? = null,
): Subnet {
    require(maxNodes > 0) { "a discovery takes in at least one node, not $maxNodes" }
    require(maxPorts > 0) { "a discovery takes in at least one port, not $maxPorts" }
    val links = RecordedLinks.fetch(this)
    val found = FoundSubnet(maxNodes, maxPorts)
    return Discovery(LidAnswers(this, links), found, stop, progress).run {
        found.reportMissing(links.guids, "the subnet administrator knows this node, but the discovery did not reach it")
    }
}

/**
 * Discovers all nodes, ports and links of the subnet breadth first, as [discover] does, but asks the subnet
 * administrator for the record of each. Use it where no long message arrives, which [discoverBySa] needs. What it finds
 * is the same, but a node to which no link leads is not known.
 *
 * Cancellation: the discovery ends at once, and what it found is lost.
 *
 * @param maxNodes how many nodes are taken in at most
 * @param maxPorts how many ports are taken in at most
 * @param stop ends the discovery when it completes, as in [discover]
 * @param progress is called after each node and each timeout, one call at a time, in the caller's context. The
 *   discovery waits for a slow one. What it throws ends the discovery.
 * @throws org.kverbs.management.transaction.MadException if the administrator does not answer, or does not know this
 *   port, or if the fabric is closed meanwhile
 * @throws org.kverbs.management.transport.MadTransportException if the port knows no subnet manager, or if the
 *   transport can send nothing at all
 * @throws IllegalStateException if the administrator says of this port what cannot be
 */
public suspend fun RecordedAttributes.discover(
    maxNodes: Int = DEFAULT_MAX_NODES,
    maxPorts: Int = DEFAULT_MAX_PORTS,
    stop: Job? = null,
    progress: ((DiscoveryProgress) -> Unit)? = null,
): Subnet {
    require(maxNodes > 0) { "a discovery takes in at least one node, not $maxNodes" }
    require(maxPorts > 0) { "a discovery takes in at least one port, not $maxPorts" }
    return Discovery(OneRecordAnswers(this), FoundSubnet(maxNodes, maxPorts), stop, progress).run()
}
