package org.kverbs.embedded.internal.cm

/** Shows specs the state of a connection manager that its users can't see. */
internal class InsideConnections(
    private val manager: EmbeddedConnectionManager,
) {
    private val agent get() = manager.host.agent

    /** The number of users' ids, connections, and requests of both sides. */
    val all: Int get() = manager.host.ids.size + agent.byId.size + agent.resolving.size + agent.resolved.size

    /** The number of further keys to connections: never more than connections. */
    val ways: Int get() = agent.bySide.size + agent.byQueuePair.size
    val connections: Int get() = agent.byId.size
}
