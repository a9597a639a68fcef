package org.kverbs.ibtool.routes

import org.kverbs.ibtool.session.DiagnosticException
import org.kverbs.ibtool.session.Session
import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath
import org.kverbs.management.structures.LinearForwardingTable
import org.kverbs.management.structures.SwitchInfo
import org.kverbs.management.transaction.MadException

/** Follows the forwarding tables from a port to a LID, one directed path after the other. */
internal class RouteTrace(
    private val session: Session,
    private val isForced: Boolean,
) {
    /** A link that the route takes: out of a port, to a stop. */
    class Step(
        val out: Int,
        val stop: Stop,
    )

    /** The route from [from] to [to]; [path] is the directed path to its end. */
    class Route(
        val from: Stop,
        val steps: List<Step>,
        val to: Stop,
        val path: DirectedPath,
    )

    /**
     * Finds the route.
     *
     * @param from the directed path to the port where it begins
     * @throws DiagnosticException if the tables do not lead there
     */
    suspend fun find(
        from: DirectedPath,
        to: LidPath,
    ): Route {
        val first = stop(from)
        val goal = if (isForced) runCatching { stop(to) }.getOrNull() else stop(to)
        val steps = ArrayList<Step>()
        var at = first
        var path = from
        repeat(MAX_HOPS) {
            if (at.isSwitch && steps.isEmpty()) lookUp(at, path, to)
            if (!isUsable(
                    at,
                )
            ) {
                bad("Bad port state found: node \"${at.ownName}\" port ${at.port} state ${at.info.portState.value}")
            }
            if (isSame(at, goal, to)) return Route(first, steps, at, path)
            val out: Int
            if (at.isSwitch) {
                out = lookUp(at, path, to)
                path = extend(path, out)
                val next = stop(path)
                if (out == 0) {
                    if (isSame(next, goal, to)) return Route(first, steps, at, path)
                    bad("Bad forwarding table entry found at: node \"${at.ownName}\" lid entry ${to.destination} is 0")
                }
                at = next
            } else {
                if (at.portGuid != first.portGuid) {
                    bad("can't continue: reached CA or router port ${at.portGuid.toString(16)}, lid ${at.lid}")
                }
                out = at.port
                val last = path.hops.last()
                val isHere = path.length == 0
                path = if (isHere) extend(path, at.port) else DirectedPath(path.hops.dropLast(1))
                val next = stop(path)
                at = if (isHere) next else next.by(last)
            }
            if (at.isSwitch) lookUp(at, path, to)
            if (!isUsable(
                    at,
                )
            ) {
                bad(
                    "Bad out port state found: node \"${at.ownName}\" outport $out state ${at.info.portState.value}",
                )
            }
            steps += Step(out, at)
        }
        bad("no route found after $MAX_HOPS hops")
    }

    private fun isSame(
        stop: Stop,
        goal: Stop?,
        to: LidPath,
    ) = stop.portGuid == goal?.portGuid || (isForced && stop.lid == to.destination.value)

    /** Port 0 of a basic switch is always active. */
    private fun isUsable(stop: Stop) = stop.isActive || stop.isSwitch

    private fun extend(
        path: DirectedPath,
        port: Int,
    ): DirectedPath = if (path.length + 1 >= MAX_HOPS) bad("Direct path too long!") else path + port

    private suspend fun stop(path: MadPath): Stop =
        try {
            Stop.at(session, path)
        } catch (e: MadException) {
            bad("can't reach port at $path: ${e.message}")
        }

    private suspend fun lookUp(
        stop: Stop,
        path: MadPath,
        to: LidPath,
    ): Int {
        val lid = to.destination.value
        val info = session.get<SwitchInfo>(path)
        val port =
            if (lid >= info.linearFDBCap && lid > info.linearFDBTop) {
                -1
            } else {
                session.get<LinearForwardingTable>(path, lid / BLOCK).portBlock[lid % BLOCK]
            }
        if (port !in 0..stop.node.numPorts) {
            bad(
                "Bad forwarding table entry found at: node \"${stop.ownName}\" lid entry $lid is $port " +
                    "(top ${info.linearFDBTop})",
            )
        }
        return port
    }

    private fun bad(message: String): Nothing = throw DiagnosticException(message)

    private companion object {
        private const val MAX_HOPS = 63
        private const val BLOCK = 64
    }
}
