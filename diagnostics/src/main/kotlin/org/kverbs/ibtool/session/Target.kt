package org.kverbs.ibtool.session

import org.kverbs.management.path.DirectedPath
import org.kverbs.management.path.LidPath
import org.kverbs.management.path.MadPath

/**
 * The port that a command asks.
 *
 * @property path the way there
 */
internal data class Target(
    val path: MadPath,
) {
    /** The LID, or 0 for a directed path. */
    val lid: Int get() = (path as? LidPath)?.destination?.value ?: 0

    /** Returns the form of infiniband-diags: `Lid 4`, or `DR path slid 65535; dlid 65535; 0,1`. */
    override fun toString(): String =
        when (path) {
            is LidPath -> "Lid $lid"
            is DirectedPath -> "DR path slid 65535; dlid 65535; ${path.hops.joinToString(",")}"
        }
}
