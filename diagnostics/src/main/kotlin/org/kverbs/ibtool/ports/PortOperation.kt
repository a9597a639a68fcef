package org.kverbs.ibtool.ports

import org.kverbs.management.structures.PortPhysicalState
import org.kverbs.management.structures.PortState

/**
 * What `ibportstate` does to the state of a port, of which a command line has one.
 *
 * @property cuts whether the link goes down by it, at least until it has trained anew
 */
internal enum class PortOperation(
    val state: PortState = PortState.NO_CHANGE,
    val physicalState: PortPhysicalState = PortPhysicalState.NO_CHANGE,
    val cuts: Boolean = false,
) {
    QUERY,
    ENABLE(physicalState = PortPhysicalState.POLLING),
    RESET(physicalState = PortPhysicalState.POLLING, cuts = true),
    DISABLE(physicalState = PortPhysicalState.DISABLED, cuts = true),
    DOWN(state = PortState.DOWN, cuts = true),
    ARM(state = PortState.ARMED),
    ACTIVE(state = PortState.ACTIVE),
    ON(physicalState = PortPhysicalState.POLLING),
    OFF(physicalState = PortPhysicalState.DISABLED, cuts = true),
    ;

    /** The word of the command line. */
    val word: String get() = name.lowercase()
}
