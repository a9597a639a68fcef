package org.kverbs.embedded.internal.cm

/** What specs may know of a connection manager that its users can't see. */
internal class InsideConnections(
    private val manager: EmbeddedConnectionManager,
) {
    private val agent get() = manager.host.agent

    /** Ids of users, connections, and questions of both sides. */
    val all: Int get() = manager.host.ids.size + agent.byId.size + agent.resolving.size + agent.resolved.size

    /** How else connections are found: never more than there are. */
    val ways: Int get() = agent.bySide.size + agent.byQueuePair.size
    val connections: Int get() = agent.byId.size
}
