package org.kverbs.management.simulation

/** Why a datagram did not arrive, or where it did. */
internal const val LOST = -1

/** Leads datagrams over the links of the fabric, and counts them at each. IBA 14.2.2 for directed routes. */
internal class Router(
    private val network: Network,
) {
    private val topology = network.topology
    private val counters = network.counters

    /**
     * A request by a directed route, from [start] on. Writes the return path.
     *
     * @return the port at which it arrives, or [LOST]
     */
    fun outward(
        start: Int,
        mad: ByteArray,
    ): Int {
        if (Mads.hopPointer(mad) != 0 || Mads.hopCount(mad) > MAX_HOPS) return LOST
        var port = start
        Mads.setReturnPath(mad, 0, topology.numberOf(port))
        for (hop in 1..Mads.hopCount(mad)) {
            val node = topology.nodeOf(port)
            val next = Mads.initialPath(mad, hop)
            // Only switches pass on what has arrived; an adapter sends by the port that the program has opened.
            val mayLeave = topology.isSwitch(node) || (hop == 1 && next == topology.numberOf(port))
            port = if (mayLeave) leave(node, next, port) else LOST
            if (port == LOST) return LOST
            Mads.setReturnPath(mad, hop, topology.numberOf(port))
        }
        return port
    }

    /** The answer to a request by a directed route, over the return path. */
    fun back(
        start: Int,
        mad: ByteArray,
    ): Int {
        if (Mads.hopCount(mad) > MAX_HOPS) return LOST
        var port = start
        for (hop in Mads.hopCount(mad) downTo 1) {
            val node = topology.nodeOf(port)
            if (hop < Mads.hopCount(mad) && !topology.isSwitch(node)) return LOST
            port = leave(node, Mads.returnPath(mad, hop), port)
            if (port == LOST) return LOST
        }
        return port
    }

    private fun leave(
        node: Int,
        number: Int,
        arrival: Int,
    ): Int {
        val port = topology.port(node, number)
        if (port == Topology.NONE) {
            counters.add(arrival, Counters.SWITCH_RELAY_ERRORS)
            return LOST
        }
        // Port 0 of a switch has no link: the datagram stays.
        if (number == 0) return if (topology.isSwitch(node)) port else LOST
        return cross(port)
    }

    private fun cross(port: Int): Int {
        val peer = network.far(port)
        if (peer == Topology.NONE || !network.isUp(peer)) {
            counters.add(port, Counters.XMIT_DISCARDS)
            return LOST
        }
        counters.crossed(port, peer)
        return peer
    }

    /**
     * A datagram to a LID, over the forwarding tables.
     *
     * @param isSubnetManagement whether links that are not active let it pass
     */
    fun byLid(
        start: Int,
        lid: Int,
        isSubnetManagement: Boolean,
    ): Int {
        if (network.answersTo(network.endPort(start), lid)) return network.endPort(start)
        var port = start
        if (!topology.isSwitch(topology.nodeOf(start))) port = pass(start, isSubnetManagement)
        var links = 0
        while (port != LOST && links++ <= MAX_LINKS) {
            val node = topology.nodeOf(port)
            val end = network.endPort(port)
            if (network.answersTo(end, lid)) return end
            if (!topology.isSwitch(node)) return LOST
            val output = network.tables.ofSwitch(node).outputPort(lid)
            val next = if (output == SwitchTables.NO_PORT) Topology.NONE else topology.port(node, output)
            if (next == Topology.NONE || output == 0) {
                counters.add(port, Counters.SWITCH_RELAY_ERRORS)
                return LOST
            }
            port = pass(next, isSubnetManagement)
        }
        return LOST
    }

    private fun pass(
        port: Int,
        isSubnetManagement: Boolean,
    ): Int {
        val peer = topology.peer(port)
        val isOpen = isSubnetManagement || (peer != Topology.NONE && isActive(port) && isActive(peer))
        if (isOpen) return cross(port)
        counters.add(port, Counters.XMIT_DISCARDS)
        return LOST
    }

    private fun isActive(port: Int) = network.state(port) == Network.ACTIVE

    private companion object {
        const val MAX_HOPS = 63

        /** A packet in a loop of the forwarding tables ends when its time on the fabric is over. */
        const val MAX_LINKS = 64
    }
}
