package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionEvent
import org.kverbs.cm.ConnectionParameters
import org.kverbs.cm.PortSpace
import java.net.InetSocketAddress
import kotlin.time.Duration

/**
 * Describes how to set up one side of a connection, around an object [T] with a queue pair.
 *
 * @param timeout of each step
 * @param isShared true to create the queue pair in the device's domain; datagrams always do
 * @param make creates the object; closes everything that it has created if it throws
 * @param close closes the queue pair, at once or soon
 * @param prepared called with the peer's address when the queue pair can take receives; the peer can send from then on
 */
internal class SetUp<T>(
    val parameters: (RdmaNode) -> ConnectionParameters,
    val timeout: Duration,
    isShared: Boolean,
    val portSpace: PortSpace = PortSpace.TCP,
    val make: (RdmaNode, ProtectionDomain) -> T,
    val queuePair: (T) -> QueuePair,
    val prepared: (T, InetSocketAddress?) -> Unit,
    val close: (T) -> Unit = { queuePair(it).close() },
) {
    val isShared = isShared || portSpace.isDatagram
}

/**
 * A connection that is established or being established: its id, its device, its domain, and the object with its queue
 * pair.
 */
internal class Established<T>(
    val steps: ConnectionSteps,
    val node: RdmaNode,
    private val setUp: SetUp<T>,
) : AutoCloseable {
    /** The domain of the queue pair. */
    val pd: ProtectionDomain = node.domain(setUp.isShared)

    /** The event with the peer's request or answer. */
    lateinit var said: ConnectionEvent
    private var made: T? = null

    /** The object with the queue pair. */
    val value: T get() = checkNotNull(made)
    val queuePair: QueuePair get() = setUp.queuePair(value)

    /** Creates the queue pair, and moves it to INIT. */
    fun prepare() {
        val value = setUp.make(node, pd).also { made = it }
        steps.id.prepare(queuePair, QueuePairState.INIT)
        setUp.prepared(value, steps.remoteAddress)
    }

    /** Closes the queue pair, and the connection's own domain with all memory registered in it. */
    override fun close(): Unit = closeAll(made?.let { AutoCloseable { setUp.close(it) } }, pd.takeIf { it !== node.pd })
}
