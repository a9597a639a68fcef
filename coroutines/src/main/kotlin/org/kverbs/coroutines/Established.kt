package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import kotlin.time.Duration

/**
 * How one side of a connection is set up, around something that has a queue pair.
 *
 * @param timeout of each step
 * @param isShared whether its queue pair is made in the device's domain; those of datagrams are
 * @param make closes what it has made if it throws
 * @param close closes the queue pair, at once or soon
 * @param prepared called when the queue pair can take receives; the other side may send from then on
 */
internal class SetUp<T>(
    val parameters: (RdmaNode) -> ConnectionParameters,
    val timeout: Duration,
    isShared: Boolean,
    val portSpace: PortSpace = PortSpace.TCP,
    val make: (RdmaNode, ProtectionDomain) -> T,
    val queuePair: (T) -> QueuePair,
    val prepared: (T) -> Unit,
    val close: (T) -> Unit = { queuePair(it).close() },
) {
    val isShared = isShared || portSpace.isDatagram
}

/** A connection that is up, or comes up: its id, the device it is on, its domain, and what has its queue pair. */
internal class Established<T>(
    val steps: ConnectionSteps,
    val node: RdmaNode,
    private val setUp: SetUp<T>,
) : AutoCloseable {
    /** The domain of its queue pair. */
    val pd: ProtectionDomain = node.domain(setUp.isShared)

    /** What the other side said, when it asked or answered. */
    lateinit var said: ConnectionEvent
    private var made: T? = null

    /** What has the queue pair. */
    val value: T get() = checkNotNull(made)
    val queuePair: QueuePair get() = setUp.queuePair(value)

    /** Makes the queue pair, and moves it to INIT. */
    fun prepare() {
        val value = setUp.make(node, pd).also { made = it }
        steps.id.prepare(queuePair, QueuePairState.INIT)
        setUp.prepared(value)
    }

    /** Closes the queue pair, and the domain with all that was registered there if it is the connection's own. */
    override fun close(): Unit = closeAll(made?.let { AutoCloseable { setUp.close(it) } }, pd.takeIf { it !== node.pd })
}
