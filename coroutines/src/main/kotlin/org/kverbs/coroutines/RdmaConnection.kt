package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.dsl.RcVerbs
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * A connection to a peer: a queue pair with suspend functions, and its end. Any thread.
 *
 * **End.** When the peer disconnects or its program ends, everything that waits fails with
 * [org.kverbs.WorkCompletionException], flushed. What the device does not flush fails a second later with
 * [org.kverbs.cm.ConnectionException], as every call does from then on. The kernel tells of its devices' programs
 * however they end; an embedded device tells of its process's exit (a return from main, System.exit, SIGTERM), and no
 * more. Of a host that loses power or its network, and of an embedded device's process that is killed (`kill -9`),
 * nothing is heard: RC has no keep-alive. Whoever sends notices, as the device tries for a while and then fails the
 * send; who only receives never does. So send now and then, or wait in [kotlinx.coroutines.withTimeout].
 */
public class RdmaConnection internal constructor(
    host: RdmaHost,
    connection: Established<AsyncQueuePair<RcVerbs>>,
) : AutoCloseable {
    private val lifetime =
        ConnectionLifetime(host, connection, onFlushed = {
            queuePair.stop(LostConnection(remoteAddress, "the connection has ended"))
        })
    private val peerData = connection.said.privateData()

    /** The device it is on. */
    public val node: RdmaNode = connection.node

    /** Sends, receives, writes, reads and does atomics. */
    public val queuePair: AsyncQueuePair<RcVerbs> = connection.value

    /**
     * Where to register memory for it. The domain is the connection's own, so that no other peer reaches what is
     * registered there, and is closed with it, as is that memory; by [ConnectionBuilder.sharedDomain] it is the
     * device's.
     */
    public val pd: ProtectionDomain = connection.pd

    /** What the peer gave along when the connection was made, with zeros behind it on InfiniBand and RoCE. */
    public val privateData: ByteArray get() = peerData.clone()

    /** The peer's address and port. */
    public val remoteAddress: InetSocketAddress? = connection.steps.remoteAddress

    /** This side's address and port. */
    public val localAddress: InetSocketAddress? = connection.steps.localAddress

    /** False once either side has ended the connection, and this side knows it. */
    public val isOpen: Boolean get() = lifetime.isOpen

    /** Suspends until the connection has ended, by either side. */
    public suspend fun awaitEnd(): Unit = lifetime.awaitEnd()

    /** Ends the connection, and suspends until the peer has taken notice or [timeout] is over; then closes it. */
    public suspend fun disconnect(timeout: Duration = 5.seconds): Unit = lifetime.disconnect(timeout)

    /** Ends the connection and closes its queue pair and domain; the peer is told. */
    override fun close(): Unit = lifetime.close()

    /** Names the queue pair and the peer's address. */
    override fun toString(): String = "connection of ${queuePair.queuePair.describe()} to ${remoteAddress.shown()}"
}
