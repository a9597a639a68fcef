package org.kverbs.coroutines

import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.RdmaException
import org.kverbs.attributes.AccessFlag
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionStep
import java.lang.foreign.MemorySegment
import java.net.InetSocketAddress
import java.util.concurrent.atomic.AtomicReference
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * Connects a [MessageChannel] to a peer's address: messages in both directions with flow control, and memory that one
 * side publishes and the other reads, writes and updates atomically. For waiting, cancellation and errors see
 * [MessageChannel].
 *
 * **End.** When the peer disconnects or its program ends, every waiting call fails with a [ConnectionException];
 * messages that have arrived can be received before. If the peer's host loses power, or its process with an embedded
 * device is killed (`kill -9`), no device reports it; the [MessageChannelBuilder.keepAlive] of the channel notices and
 * fails every waiting call.
 */
public class MessageConnection internal constructor(
    host: RdmaHost,
    connection: Established<MessageChannel>,
) : AutoCloseable {
    /** The device of this connection. */
    public val node: RdmaNode = connection.node

    /** The channel, for its further operations. */
    public val channel: MessageChannel = connection.value

    /** The peer's address and port. */
    public val remoteAddress: InetSocketAddress? = connection.steps.remoteAddress

    /** This side's address and port. */
    public val localAddress: InetSocketAddress? = connection.steps.localAddress
    private val peerData =
        connection.said.privateData().let {
            it.copyOfRange(
                minOf(ChannelHello.BYTES, it.size),
                it.size,
            )
        }
    private val claimedBy = AtomicReference<String?>()
    private val end = LostConnection(remoteAddress, "the connection has ended")
    private val lifetime =
        ConnectionLifetime(host, connection, onEnd = { channel.fail(end) }, onFlushed = { channel.stop(end) })

    init {
        channel.endsBy(end)
    }

    /** The private data of the peer's request or answer; on InfiniBand and RoCE followed by zeros. */
    public val privateData: ByteArray get() = peerData.clone()

    /**
     * The protection domain in which to register memory for this connection. It belongs to the connection, so that no
     * other peer reaches the memory, and is closed with it, together with the memory. With `sharedDomain()` it is the
     * device's domain.
     *
     * The peer reaches only memory that [publish] published. If the device shares receive slots
     * ([MessageChannelBuilder.slotSize]), the peer gets the key of a memory window, not the region's key. Requests that
     * are posted directly on the [channel]'s queue pair then need memory of the queue pair's domain, which is another
     * one. Never register memory with remote access in it: the queue pairs of other connections are in that domain,
     * too.
     */
    public val pd: ProtectionDomain = connection.pd

    /**
     * False once this side knows that either side has ended the connection, or that it has failed. Messages that have
     * arrived can still be received.
     */
    public val isOpen: Boolean get() = lifetime.isOpen && channel.isOpen

    /** The counts of what the channel has done so far, and what it holds now. */
    public val stats: ChannelStats get() = channel.stats

    /** The messages from the peer; see [MessageChannel.incoming]. */
    public val incoming: IncomingMessages get() = channel.incoming

    /** Sends a message; see [MessageChannel.send]. */
    public suspend fun send(bytes: ByteArray): Unit = channel.send(bytes)

    /** Sends the first [length] bytes of a buffer; see [MessageChannel.send]. */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Long = buffer.memory.byteSize(),
    ): Unit = channel.send(buffer, length)

    /** Sends the first [length] bytes of a buffer, with the length as `Int`. */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Int,
    ): Unit = channel.send(buffer, length.toLong())

    /** Receives a message; see [MessageChannel.receive]. */
    public suspend fun receive(): ByteArray = channel.receive()

    /** Receives a message, or null if the peer has sent its last one; see [MessageChannel.receiveOrNull]. */
    public suspend fun receiveOrNull(): ByteArray? = channel.receiveOrNull()

    /** Receives a message into a buffer, and returns its length in bytes; see [MessageChannel.receive]. */
    public suspend fun receive(into: RegisteredBuffer): Long = channel.receive(into)

    /**
     * Receives a message into a buffer, and returns its length in bytes, or null if the peer has sent its last one; see
     * [MessageChannel.receiveOrNull].
     */
    public suspend fun receiveOrNull(into: RegisteredBuffer): Long? = channel.receiveOrNull(into)

    /** Publishes a region to the peer under a name; see [MessageChannel.publish]. */
    public suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = channel.publish(name, region)

    /** Publishes memory to the peer under a name, by default for reading; see [MessageChannel.publish]. */
    public suspend fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): PublishedMemory = channel.publish(name, memory, *access)

    /**
     * Publishes new memory to the peer under a name, by default for reading. [fill] runs before the peer is told; see
     * [MessageChannel.publish].
     */
    public suspend fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
        fill: MemorySegment.() -> Unit = {},
    ): PublishedMemory = channel.publish(name, size, *access, fill = fill)

    /** Finds memory that the peer has published; see [MessageChannel.remote]. */
    public suspend fun remote(name: String): RemoteRegion = channel.remote(name)

    /** Finds memory that the peer publishes, now or later; see [MessageChannel.awaitRemote]. */
    public suspend fun awaitRemote(name: String): RemoteRegion = channel.awaitRemote(name)

    /**
     * Gives all messages of this connection to a protocol, for a library that implements one: two protocols on one
     * connection take each other's messages. The calls of this class do not look at it.
     *
     * @param protocol the name for messages of exceptions, such as "kRPC"
     * @return null if the protocol has the messages now; the name of the protocol that has them already
     */
    public fun claimMessages(protocol: String): String? = claimedBy.compareAndExchange(null, protocol)

    /** Gives up the claim of a protocol that [claimMessages] has given the messages to; otherwise does nothing. */
    public fun releaseMessages(protocol: String) {
        if (claimedBy.get() == protocol) claimedBy.set(null)
    }

    /** Suspends until the connection has ended, by either side. */
    public suspend fun awaitEnd(): Unit = lifetime.awaitEnd()

    /**
     * Ends this side's messages, and suspends until the peer's device has all of them. The other direction stays open;
     * see [MessageChannel.finish].
     */
    public suspend fun finish(): Unit = channel.finish()

    /**
     * Ends the connection in good order: calls [finish], suspends until the peer has finished too, or is gone, or
     * [timeout] is over, and closes the connection. Drops messages that were not received. If the caller is cancelled,
     * it closes at once.
     *
     * @throws ConnectionException if the peer has not taken all messages of this side within [timeout] and is not gone:
     *   the rest is lost
     */
    public suspend fun disconnect(timeout: Duration = 5.seconds) {
        var isFinished = false
        lifetime.endsHere()
        try {
            withTimeoutOrNull(timeout) {
                channel.finish()
                isFinished = true
                channel.awaitPeersEnd()
            }
        } catch (_: RdmaException) {
            return // the peer ended the connection first
        } finally {
            close()
        }
        if (!isFinished) {
            val why =
                "the peer had not taken all messages within $timeout of disconnect, and those are lost: " +
                    "give it more time by finish() before, or by disconnect's timeout"
            throw ConnectionException(ConnectionStep.STAY_CONNECTED, remoteAddress, 0, why)
        }
    }

    /** Ends the connection now, and tells the peer. Messages under way can be lost. */
    override fun close(): Unit = closeAll(channel, lifetime)

    /** Names the peer's address. */
    override fun toString(): String = "message connection to ${remoteAddress.shown()}"
}
