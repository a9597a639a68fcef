package org.kverbs.management.simulation

import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.TrapNumber
import org.kverbs.structures.Lid
import org.kverbs.structures.Structure
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** A datagram on its way, and all that its answer needs to find back. */
internal class Journey(
    val from: SimulatedPort,
    val mad: ByteArray,
    val path: MadPath,
    /** The bytes as they were sent, for word that they were lost. */
    val original: ByteArray,
) {
    /** Where the directed part of the route ended, and where the datagram arrived in the end. */
    var turn = LOST
    var end = LOST
}

/**
 * Carries the datagrams of all programs through a simulated fabric: routes them, has the agents of the nodes answer,
 * and brings the answers back.
 *
 * Threads: any. One lock guards the network; programs and handlers are called without it.
 */
internal class Exchange(
    private val network: Network,
    private val timeline: Timeline,
    private val faults: FaultyWires,
    private val services: Services,
    private val manager: SubnetManager?,
    private val reportsLoss: Boolean,
) {
    private val topology = network.topology
    private val router = Router(network)
    val agent = SubnetAgent(network)
    val performance =
        PerformanceAgent(network) { time, action -> timeline.after(time) { lock.withLock { if (!isClosed) action() } } }
    private val others = NodeAgents(network)
    private val traps = Traps(network)
    private val lock = ReentrantLock()

    /** Takes the traps that reach the simulation's own subnet manager, to report them to subscribers. */
    @Volatile
    var reporter: ((trap: ByteArray) -> Unit)? = null
    private val programs = HashMap<Int, SimulatedPort>()
    private var nextId = 1
    private var isClosed = false

    /** Reads or changes the network. */
    fun <T> ask(question: (Network) -> T): T = lock.withLock { question(network) }

    fun name(port: Int): String = topology.name(port)

    fun nodeId(port: Int): String = topology.specOf(port).id

    /**
     * Attaches a program to a port.
     *
     * @param mgmtClass the class of which the program takes all requests at the port, and no others
     */
    fun join(
        port: Int,
        mgmtClass: Int? = null,
    ): SimulatedPort =
        lock.withLock {
            check(!isClosed) { "the simulation is closed" }
            check(
                programs.size < MOST_PROGRAMS,
            ) { "$MOST_PROGRAMS programs are attached to the simulation: close some" }
            while (nextId in programs) nextId = nextId % MOST_PROGRAMS + 1
            SimulatedPort(this, nextId, port, mgmtClass).also { programs[it.id] = it }
        }

    /** The ports of all programs but the simulation's own. */
    fun attached(): List<String> =
        lock.withLock { programs.values.filter { it.mgmtClass == null }.map { topology.name(it.port) } }

    fun leave(program: SimulatedPort) {
        lock.withLock { programs.remove(program.id) }
    }

    fun send(
        from: SimulatedPort,
        mad: ByteArray,
        path: MadPath,
    ) {
        if (!Mads.isResponse(mad)) Mads.setOwner(mad, from.id)
        val journey = Journey(from, mad, path, mad.copyOf())
        val fate = faults.request()
        if (fate.isLost) return
        timeline.after(fate.delay) { arrive(journey) }
    }

    private fun arrive(journey: Journey) {
        val reached = lock.withLock { if (isClosed) return else reach(journey) }
        val answers = reached.answer
        // A program is asked without the lock.
        val isForNode = answers is Answer.OfNode && reached.deliveries.none { (to, arrival) -> to.wants(arrival) }
        deliver(reached)
        if (answers is Answer.Made) reply(journey)
        if (answers is Answer.Asked) {
            val answer = answers.service.answer(journey.mad, name(journey.end)) ?: return
            answer.copyInto(journey.mad)
            reply(journey)
        }
        if (isForNode) {
            val ofNode = lock.withLock { if (isClosed) return else ofNode(journey) }
            deliver(ofNode)
            if (ofNode.answer is Answer.Made) reply(journey)
        }
    }

    private fun deliver(reached: Reached) {
        reached.deliveries.forEach { (program, arrival) -> program.hand(arrival) }
        reached.traps.forEach { reporter?.invoke(it) }
    }

    /** What becomes of a datagram that arrived. */
    private sealed interface Answer {
        data object None : Answer

        data object Made : Answer

        /** The node's own, unless a program wants the request. */
        data object OfNode : Answer

        class Asked(
            val service: Service,
        ) : Answer
    }

    private data class Reached(
        val answer: Answer,
        val deliveries: List<Pair<SimulatedPort, Arrival>> = emptyList(),
        val traps: List<ByteArray> = emptyList(),
    )

    /** Has the switches send the traps that are due. */
    fun raise() {
        val all =
            lock.withLock {
                network
                    .takeChanged()
                    .filter { !network.isDead(it) }
                    .map { topology.port(it, 0) }
                    .mapNotNull { sent(it, traps.linkChanged(it)) }
            }
        all.forEach(::deliver)
    }

    /**
     * Has a port send a trap.
     *
     * @throws IllegalStateException if the port has no manager, or no way to it
     */
    fun raise(
        port: Int,
        trap: TrapNumber,
        details: Structure?,
    ) {
        val reached =
            lock.withLock {
                check(!isClosed) { "the simulation is closed" }
                val mad = traps.asked(port, trap, details)
                val isAlive = !network.isDead(topology.nodeOf(port))
                checkNotNull(if (isAlive) sent(network.endPort(port), mad) else null) {
                    "${name(port)} reaches no subnet manager; give the fabric one with subnetManager(), or let a " +
                        "manager set the LIDs of its ports"
                }
            }
        deliver(reached)
    }

    /** Where a trap comes to, or null if the port has no manager or no way to it. */
    private fun sent(
        end: Int,
        trap: ByteArray,
    ): Reached? {
        val lid = network.lid(end)
        val to = network.subnetManagerLid(end)
        val manager = if (lid == 0 || to == 0) LOST else router.byLid(end, to, isSubnetManagement = true)
        if (manager == LOST) return null
        val there = takers(manager).filter { it.mgmtClass == null }
        val arrival = { Arrival(trap.copyOf(), LidPath(Lid(lid))) }
        val reports = if (isManager(manager)) listOf(trap) else emptyList()
        return Reached(Answer.None, there.map { it to arrival() }, reports)
    }

    private fun isManager(end: Int) = manager != null && network.endPort(end) == network.endPort(manager.port)

    private fun reach(journey: Journey): Reached {
        route(journey)
        val end = journey.end
        if (end == LOST) {
            val word = Arrival(journey.original, null, isUndelivered = true)
            return Reached(Answer.None, if (reportsLoss) listOf(journey.from to word) else emptyList())
        }
        if (network.isDead(topology.nodeOf(end)) || faults.isMute(topology.nodeOf(end))) return Reached(Answer.None)
        val mad = journey.mad
        if (!Mads.isResponse(mad) && faults.isBusy()) {
            Mads.answer(mad, Mads.BUSY)
            return answered(true)
        }
        return when {
            Mads.isResponse(mad) -> Reached(Answer.None, owner(end, mad).map { it to arrival(journey) })
            Mads.isSubnetManagement(mad) && agent.knows(Mads.attribute(mad)) -> ofAgent(end, mad)
            Mads.method(mad) == Mads.TRAP && isManager(end) -> trapped(journey)
            manager?.takes(end, mad) == true -> answered(true).also { manager.answer(mad) }
            Mads.mgmtClass(mad) == Mads.PERFORMANCE -> answered(true).also { performance.answer(end, mad) }
            else -> unknown(journey)
        }
    }

    /** A request with a wrong key gets no answer, but its port sends a trap. */
    private fun ofAgent(
        end: Int,
        mad: ByteArray,
    ): Reached {
        if (agent.answer(end, mad)) return answered(true)
        val owner = network.endPort(end)
        return sent(owner, traps.wrongKey(owner, mad)) ?: Reached(Answer.None)
    }

    /** A trap of a program: a program that watches traps at the manager confirms it, else the manager itself. */
    private fun trapped(journey: Journey): Reached {
        val trap = listOf(journey.mad.copyOf())
        val there = takers(journey).filter { it !== journey.from }
        if (there.isNotEmpty()) return Reached(Answer.None, there.map { it to arrival(journey) }, trap)
        Mads.repress(journey.mad)
        return Reached(Answer.Made, traps = trap)
    }

    private fun answered(isAnswered: Boolean): Reached = Reached(if (isAnswered) Answer.Made else Answer.None)

    /** Neither agent takes it: an agent of the user does, a program at the port, or the node by itself. */
    private fun unknown(journey: Journey): Reached {
        services.find(journey.mad)?.let { return Reached(Answer.Asked(it)) }
        return Reached(Answer.OfNode, takers(journey).map { it to arrival(journey) })
    }

    /** What the node answers to a request that no program wants. */
    private fun ofNode(journey: Journey): Reached {
        val mad = journey.mad
        val isKeyed = Mads.isSubnetManagement(mad) && Mads.attribute(mad) != Smps.SM_INFO
        return if (isKeyed && Mads.method(mad) != Mads.TRAP) {
            ofAgent(journey.end, mad)
        } else {
            answered(others.answer(journey.end, mad))
        }
    }

    /** The programs at the port that may want a request: the one for its class, else all but the one that asked. */
    private fun takers(journey: Journey): List<SimulatedPort> {
        val there = takers(network.endPort(journey.end))
        val own = there.filter { it.mgmtClass == Mads.mgmtClass(journey.mad) && it !== journey.from }
        val any = there.filter { it.mgmtClass == null }
        return own.ifEmpty { any.filter { it !== journey.from }.ifEmpty { any } }
    }

    private fun takers(end: Int) = programs.values.filter { it.takesRequests && network.endPort(it.port) == end }

    private fun owner(
        port: Int,
        mad: ByteArray,
    ): List<SimulatedPort> =
        listOfNotNull(
            programs[Mads.owner(mad)]?.takeIf { topology.nodeOf(it.port) == topology.nodeOf(port) },
        )

    private fun arrival(journey: Journey): Arrival {
        val back =
            when (val path = journey.path) {
                is LidPath -> sourceLid(journey).takeIf { it.isUnicast }?.let { backTo(it, path, journey.end) }
                else -> null
            }
        return Arrival(journey.mad.copyOf(), back)
    }

    /** A port that has several LIDs answers from the one that was asked. */
    private fun backTo(
        source: Lid,
        path: LidPath,
        end: Int,
    ) = LidPath(
        source,
        source = path.destination.takeIf { it.isUnicast && it.value != network.lid(network.endPort(end)) },
        serviceLevel = path.serviceLevel,
        partitionKey = path.partitionKey,
    )

    private fun sourceLid(journey: Journey): Lid =
        (journey.path as? LidPath)?.source ?: Lid(network.lid(network.endPort(journey.from.port)))

    private fun route(journey: Journey) {
        val mad = journey.mad
        val start = journey.from.port
        val path = journey.path
        if (!network.topology.isSwitch(topology.nodeOf(start)) && network.isDead(topology.nodeOf(start))) return
        if (!Mads.isDirected(mad)) {
            if (path is LidPath) journey.end = byLid(start, path.destination.value, mad)
            return
        }
        if (Mads.goesBack(mad) != Mads.isResponse(mad)) return
        if (Mads.isResponse(mad)) {
            journey.end = router.back(start, mad)
            return
        }
        val first = if (path is LidPath) byLid(start, path.destination.value, mad) else start
        if (first != LOST) journey.turn = router.outward(first, mad)
        val last = Mads.destinationLid(mad)
        journey.end =
            if (journey.turn == LOST || last == Mads.PERMISSIVE) journey.turn else byLid(journey.turn, last, mad)
    }

    private fun byLid(
        start: Int,
        lid: Int,
        mad: ByteArray,
    ) = router.byLid(start, lid, Mads.isSubnetManagement(mad))

    private fun reply(journey: Journey) {
        val fate = faults.reply(journey.mad)
        if (fate.isLost) return
        timeline.after(fate.delay) {
            val isThere = lock.withLock { !isClosed && routeBack(journey) }
            if (isThere) {
                repeat(fate.copies) { journey.from.hand(Arrival(fate.bytes.copyOf(), backOf(journey))) }
            } else if (reportsLoss) {
                journey.from.hand(Arrival(journey.original, null, isUndelivered = true))
            }
        }
    }

    private fun backOf(journey: Journey): MadPath? = (journey.path as? LidPath)?.let { LidPath(it.destination) }

    /** Whether the answer finds back to the node that asked. */
    private fun routeBack(journey: Journey): Boolean {
        val mad = journey.mad
        var port = journey.end
        if (Mads.isDirected(mad)) {
            if (port != journey.turn) port = byLid(port, network.lid(network.endPort(journey.turn)), mad)
            if (port != LOST) port = router.back(port, mad)
            val source = Mads.sourceLid(mad)
            if (port != LOST && source != Mads.PERMISSIVE) port = byLid(port, source, mad)
        } else {
            val source = sourceLid(journey).value
            // A port without a LID can ask only itself.
            if (port != network.endPort(journey.from.port)) port = byLid(port, source, mad)
        }
        return port != LOST && topology.nodeOf(port) == topology.nodeOf(journey.from.port)
    }

    /** The highest number of a program: it has 16 bits of a transaction id. */
    private companion object {
        const val MOST_PROGRAMS = 0xffff
    }

    fun close() {
        val all = lock.withLock { programs.values.toList().also { isClosed = true } }
        all.forEach { it.close() }
        timeline.close()
    }
}
