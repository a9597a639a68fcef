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
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/**
 * A [MessageChannel] to a peer's address: messages both ways with flow control, and memory that one side publishes and
 * the other reads, writes and counts in. Everything about waiting, cancellation and errors is the channel's.
 *
 * **End.** A peer that disconnects, or whose program ends, ends every wait with a [ConnectionException], after what had
 * come. A peer whose host loses power, or whose process on an embedded device is killed (`kill -9`), says nothing; the
 * channel notices by its [MessageChannelBuilder.keepAlive] and ends every wait then.
 */
public class MessageConnection internal constructor(
    host: RdmaHost,
    connection: Established<MessageChannel>,
) : AutoCloseable {
    /** The device it is on. */
    public val node: RdmaNode = connection.node

    /** The channel, with its further operations. */
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
    private val end = LostConnection(remoteAddress, "the connection has ended")
    private val lifetime =
        ConnectionLifetime(host, connection, onEnd = { channel.fail(end) }, onFlushed = { channel.stop(end) })

    init {
        channel.endsBy(end)
    }

    /** What the peer gave along when the connection was made, with zeros behind it on InfiniBand and RoCE. */
    public val privateData: ByteArray get() = peerData.clone()

    /**
     * Where to register memory for it. The domain is the connection's own, so that no other peer reaches what is
     * published here, and is closed with it, as is the memory that was registered there; by `sharedDomain()` it is the
     * device's.
     *
     * The peer reaches what [publish] published, and nothing else: by a memory window of its own where the device has
     * them, and not by the region's key. Requests that are posted on the [channel]'s queue pair itself take memory of
     * the queue pair's domain, which is another one then, and in which nothing may be registered with remote access:
     * other connections' queue pairs are there, too.
     */
    public val pd: ProtectionDomain = connection.pd

    /**
     * False once either side has ended the connection, or it has failed, and this side knows it. What had come can
     * still be received.
     */
    public val isOpen: Boolean get() = lifetime.isOpen && channel.isOpen

    /** What the channel has done, and what it holds now. */
    public val stats: ChannelStats get() = channel.stats

    /** The messages that come; see [MessageChannel.incoming]. */
    public val incoming: IncomingMessages get() = channel.incoming

    /** Sends a message; see [MessageChannel.send]. */
    public suspend fun send(bytes: ByteArray): Unit = channel.send(bytes)

    /** Sends the first [length] bytes of a buffer without copying them; see [MessageChannel.send]. */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Long = buffer.memory.byteSize(),
    ): Unit = channel.send(buffer, length)

    /** Receives a message; see [MessageChannel.receive]. */
    public suspend fun receive(): ByteArray = channel.receive()

    /** Receives a message, or null if the peer has sent its last one; see [MessageChannel.receiveOrNull]. */
    public suspend fun receiveOrNull(): ByteArray? = channel.receiveOrNull()

    /** Receives a message into a buffer, and gives its length in bytes; see [MessageChannel.receive]. */
    public suspend fun receive(into: RegisteredBuffer): Long = channel.receive(into)

    /** Lets the peer use a region under a name; see [MessageChannel.publish]. */
    public suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = channel.publish(name, region)

    /** Lets the peer use memory under a name, by default to read it; see [MessageChannel.publish]. */
    public suspend fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): PublishedMemory = channel.publish(name, memory, *access)

    /**
     * Lets the peer use new memory under a name, by default to read it. [fill] runs before the peer is told; see
     * [MessageChannel.publish].
     */
    public suspend fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
        fill: MemorySegment.() -> Unit = {},
    ): PublishedMemory = channel.publish(name, size, *access, fill = fill)

    /** Memory that the peer has published; see [MessageChannel.remote]. */
    public suspend fun remote(name: String): RemoteRegion = channel.remote(name)

    /** Memory that the peer publishes, now or later; see [MessageChannel.awaitRemote]. */
    public suspend fun awaitRemote(name: String): RemoteRegion = channel.awaitRemote(name)

    /** Suspends until the connection has ended, by either side. */
    public suspend fun awaitEnd(): Unit = lifetime.awaitEnd()

    /**
     * Says that no more messages come from here, and suspends until the peer's device has all that were sent. The other
     * direction stays open; see [MessageChannel.finish].
     */
    public suspend fun finish(): Unit = channel.finish()

    /**
     * Ends the connection in good order: finishes, suspends until the peer has finished too, or has gone, or [timeout]
     * is over, and closes. Messages that nobody has received are dropped. A caller that is cancelled closes at once.
     *
     * @throws ConnectionException if the peer has not gone and had not taken all messages of this side in that time:
     *   those are lost
     */
    public suspend fun disconnect(timeout: Duration = 5.seconds) {
        var isFinished = false
        try {
            withTimeoutOrNull(timeout) {
                channel.finish()
                isFinished = true
                channel.awaitPeersEnd()
            }
        } catch (_: RdmaException) {
            return // the peer was faster: the connection has ended
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

    /** Ends the connection now; messages under way may be lost. The peer is told. */
    override fun close(): Unit = closeAll(channel, lifetime)

    /** Names the peer's address. */
    override fun toString(): String = "message connection to ${remoteAddress.shown()}"
}
