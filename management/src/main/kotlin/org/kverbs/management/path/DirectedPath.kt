package org.kverbs.management.path

/**
 * A path by the ports of the nodes on the way: needs no LIDs, so it works before a subnet manager assigned some. Only
 * subnet management packets take such a path.
 *
 * @property hops 0 for the local port, and then the port by which each further node is left. `DirectedPath(listOf(0))`
 *   is the local port itself.
 * @throws IllegalArgumentException if the first hop is not 0, a hop is not 0 to 254, or there are more than 63 after
 *   the first
 */
public data class DirectedPath(
    public val hops: List<Int>,
) : MadPath {
    init {
        require(hops.firstOrNull() == 0) {
            "the path ${hops.joinToString(",")} must begin with 0, the local port"
        }
        require(hops.size <= MAX_HOPS + 1) { "a directed path has at most $MAX_HOPS hops, not ${hops.size - 1}" }
        val wrong = hops.firstOrNull { it !in 0..LAST_PORT }
        require(wrong == null) { "$wrong is not a port; give 0 to $LAST_PORT for each hop" }
    }

    /** How many links the path goes over. */
    public val length: Int get() = hops.size - 1

    /** Returns the path that goes on by [port]. */
    public operator fun plus(port: Int): DirectedPath = DirectedPath(hops + port)

    /** Returns the form `DR Path (0, 1, 4)`. */
    override fun toString(): String = hops.joinToString(", ", "DR Path (", ")")

    /** The bounds of a directed path. */
    public companion object {
        /** The most links that a directed path goes over. */
        public const val MAX_HOPS: Int = 63
        private const val LAST_PORT = 254
    }
}

/** Returns the directed path over [hops], the first of which is 0: `directed(0, 1, 4)`. */
public fun directed(vararg hops: Int): DirectedPath = DirectedPath(hops.toList())
