package org.kverbs.ibtool.services

import org.kverbs.ibtool.session.Session
import org.kverbs.ibtool.session.Target
import org.kverbs.management.structures.MlxConfigSpace

/** How long the ports of an IS3 switch waited to send: words of its configuration space. */
internal object PortWaits {
    private const val FIRST_ADDRESS = 0x10013cL
    private const val DISTANCE = 12
    private const val FIRST_PART = 16
    private const val SECOND_PART = 8

    /** The numbers of the ports in the order of their addresses. */
    private val ports = (4..24) + (1..3)

    /** Returns the waits that are not zero, by the port, in the order of infiniband-diags. */
    suspend fun of(
        session: Session,
        target: Target,
    ): Map<Int, Long> = part(session, target, 0, FIRST_PART) + part(session, target, FIRST_PART, SECOND_PART)

    private suspend fun part(
        session: Session,
        target: Target,
        first: Int,
        count: Int,
    ): Map<Int, Long> {
        val space =
            session.fabric.get<MlxConfigSpace>(target.path, ConfigRecord.modifier(count)) {
                repeat(count) { record[it].address = FIRST_ADDRESS + (first + it + 1L shl DISTANCE) }
            }
        return (0 until count).associate { ports[first + it] to space.record[it].data }.filterValues { it != 0L }
    }
}
