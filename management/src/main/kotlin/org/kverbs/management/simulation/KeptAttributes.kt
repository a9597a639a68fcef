package org.kverbs.management.simulation

/** What was set at ports by further management classes, such as congestion control. A node without power forgets it. */
internal class KeptAttributes(
    private val topology: Topology,
) {
    private data class Place(
        val port: Int,
        val attribute: Int,
        val modifier: Int,
    )

    private val values = HashMap<Place, ByteArray>()

    /** The bytes of an attribute, which the caller can change; null if it was never set. */
    fun find(
        port: Int,
        attribute: Int,
        modifier: Int,
    ): ByteArray? = values[Place(port, attribute, modifier)]

    fun set(
        port: Int,
        attribute: Int,
        modifier: Int,
        value: ByteArray,
    ) {
        values[Place(port, attribute, modifier)] = value
    }

    fun forget(node: Int) {
        values.keys.removeIf { topology.nodeOf(it.port) == node }
    }
}
