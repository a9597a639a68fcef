package org.kverbs.coroutines

import org.kverbs.ProtectionDomain
import org.kverbs.dsl.RcVerbs
import java.net.InetSocketAddress
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Holds a connection to a peer: a queue pair with suspend functions, and the end of the connection. Any thread can
 * call.
 *
 * **End.** When the peer disconnects or its program ends, every waiting call fails with
 * [org.kverbs.WorkCompletionException], flushed. If the device does not flush a request, its call fails one second
 * later with [org.kverbs.cm.ConnectionException], and so does every later call.
 *
 * **Lost peers.** The kernel reports the end of a peer's program however it ends. An embedded device reports the exit
 * of its process (a return from main, System.exit, SIGTERM). Nothing reports a host that loses power or its network, or
 * a killed process (`kill -9`) with an embedded device: RC has no keep-alive. A side that sends notices the loss,
 * because its device retries for a while and then fails the send. A side that only receives never notices: send now and
 * then, or wait in [kotlinx.coroutines.withTimeout].
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

    /** The device of this connection. */
    public val node: RdmaNode = connection.node

    /** The connection's queue pair, to send, receive, read, write and do atomics. */
    public val queuePair: AsyncQueuePair<RcVerbs> = connection.value

    /**
     * The protection domain in which to register memory for this connection. It belongs to the connection, so that no
     * other peer reaches the memory, and is closed with it, together with the memory. With
     * [ConnectionBuilder.sharedDomain] it is the device's domain.
     */
    public val pd: ProtectionDomain = connection.pd

    /** The private data of the peer's request or answer; on InfiniBand and RoCE followed by zeros. */
    public val privateData: ByteArray get() = peerData.clone()

    /** The peer's address and port. */
    public val remoteAddress: InetSocketAddress? = connection.steps.remoteAddress

    /** This side's address and port. */
    public val localAddress: InetSocketAddress? = connection.steps.localAddress

    /** False once this side knows that either side has ended the connection. */
    public val isOpen: Boolean get() = lifetime.isOpen

    /** Suspends until the connection has ended, by either side. */
    public suspend fun awaitEnd(): Unit = lifetime.awaitEnd()

    /** Disconnects, suspends until the peer has confirmed or [timeout] is over, and closes the connection. */
    public suspend fun disconnect(timeout: Duration = 5.seconds): Unit = lifetime.disconnect(timeout)

    /** Disconnects without waiting for the peer, and closes the queue pair and the domain. */
    override fun close(): Unit = lifetime.close()

    /** Names the queue pair and the peer's address. */
    override fun toString(): String = "connection of ${queuePair.queuePair.describe()} to ${remoteAddress.shown()}"
}
