package org.kverbs.blocking

import kotlinx.coroutines.Job
import kotlinx.coroutines.selects.select
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.MessageConnection
import org.kverbs.coroutines.blocking
import java.lang.foreign.MemorySegment
import java.net.InetSocketAddress
import java.time.Duration
import java.util.concurrent.TimeoutException
import java.util.function.Consumer
import kotlin.time.toKotlinDuration

/**
 * Exchanges messages with a peer; its calls block their thread. It is a [MessageConnection] for Java. Any thread can
 * call, and any number of threads can send and receive at the same time.
 *
 * An interrupt ends a wait as the cancellation of a coroutine does: a send that waits for a free slot sends nothing,
 * and a receive takes no message.
 *
 * **Errors.** After the end of the connection calls throw [org.kverbs.coroutines.ChannelClosedException], or the
 * [org.kverbs.RdmaException] of its failure. Messages that have arrived can be received before.
 *
 * **Ownership.** A server ends a connection when its handler returns; a client closes its own connection.
 */
public class BlockingConnection internal constructor(
    private val connection: MessageConnection,
    private val stopping: Job = Job(),
) : AutoCloseable {
    /** Sends a message of any length that the peer takes; waits while the peer has no free slot. */
    @Throws(InterruptedException::class)
    public fun send(message: ByteArray): Unit = blocking { connection.send(message) }

    /**
     * Receives a message; waits until there is one.
     *
     * @throws org.kverbs.coroutines.ChannelClosedException if the peer has sent its last message
     */
    @Throws(InterruptedException::class)
    public fun receive(): ByteArray = blocking { connection.receive() }

    /**
     * Receives a message if one comes in time; with zero only a message that has arrived.
     *
     * @throws TimeoutException if no message came; no message is lost
     */
    @Throws(InterruptedException::class, TimeoutException::class)
    public fun receive(timeout: Duration): ByteArray = blocking(timeout) { connection.receive() }

    /** Receives a message, or returns null if the peer has sent its last one. */
    @Throws(InterruptedException::class)
    public fun receiveOrNull(): ByteArray? = blocking { connection.receiveOrNull() }

    /**
     * Receives a message. Returns null if the peer has sent its last one, or if the server of this connection is being
     * stopped ([BlockingServer.stop]) or closed. A handler that returns then ends in good order instead of by an
     * interrupt at the timeout; its client sees the orderly end of the messages:
     *
     * ```java
     * for (byte[] question; (question = connection.receiveUnlessStopping()) != null; ) {
     *     connection.send(answer(question));
     * }
     * ```
     *
     * A message that has arrived comes first. On a client's connection this does the same as [receiveOrNull].
     */
    @Throws(InterruptedException::class)
    public fun receiveUnlessStopping(): ByteArray? =
        blocking {
            select {
                connection.incoming.onReceiveCatching { message ->
                    message.exceptionOrNull()?.let { throw it }
                    message.getOrNull()
                }
                stopping.onJoin { null }
            }
        }

    /** Returns true if the server of this connection is being stopped or closed; false on a client's connection. */
    public fun isStopping(): Boolean = stopping.isCompleted

    /**
     * Publishes [size] bytes of new memory, which is zero, to the peer under a name. The peer can then do what [access]
     * allows; this side does not notice the peer's operations. The memory lives until
     * [BlockingPublishedMemory.withdraw] or the end of the connection.
     *
     * @param name 1 to 200 bytes in UTF-8, not in use by another publication
     * @param access what the peer can do; default REMOTE_READ
     * @throws IllegalArgumentException if the name is too long, empty or in use
     * @throws org.kverbs.RdmaSystemException if the device refuses to register the memory
     */
    @Throws(InterruptedException::class)
    public fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
    ): BlockingPublishedMemory = blocking { BlockingPublishedMemory(connection.publish(name, size, *access)) }

    /**
     * Publishes [size] bytes of new memory to the peer under a name; [fill] fills the memory before the peer is told.
     * Otherwise as above.
     */
    @Throws(InterruptedException::class)
    public fun publish(
        name: String,
        size: Long,
        fill: Consumer<MemorySegment>,
        vararg access: AccessFlag,
    ): BlockingPublishedMemory =
        blocking {
            BlockingPublishedMemory(connection.publish(name, size, *access) { fill.accept(this) })
        }

    /**
     * Publishes the caller's native memory to the peer under a name; otherwise as above. The memory must stay alive
     * while it is published. It can be published to many peers.
     */
    @Throws(InterruptedException::class)
    public fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): BlockingPublishedMemory = blocking { BlockingPublishedMemory(connection.publish(name, memory, *access)) }

    /**
     * Finds memory that the peer has published under this name.
     *
     * @throws org.kverbs.coroutines.NotPublishedException if the peer has not published this name; the message lists
     *   the names that it has published
     */
    @Throws(InterruptedException::class)
    public fun remote(name: String): BlockingRemoteRegion = blocking { BlockingRemoteRegion(connection.remote(name)) }

    /**
     * Finds memory that the peer publishes under this name; waits until it is published.
     *
     * @throws org.kverbs.coroutines.ChannelClosedException if the peer has sent its last message without publishing
     *   this name
     */
    @Throws(InterruptedException::class)
    public fun awaitRemote(name: String): BlockingRemoteRegion =
        blocking { BlockingRemoteRegion(connection.awaitRemote(name)) }

    /** Returns the private data of the peer's request or answer; on InfiniBand and RoCE followed by zeros. */
    public fun privateData(): ByteArray = connection.privateData

    /** Returns the peer's address and port; null if they are not known. */
    public fun remoteAddress(): InetSocketAddress? = connection.remoteAddress

    /** Returns this side's address and port; null if they are not known. */
    public fun localAddress(): InetSocketAddress? = connection.localAddress

    /**
     * Returns false once this side knows that either side has ended the connection, or that it has failed. Messages
     * that have arrived can still be received.
     */
    public fun isOpen(): Boolean = connection.isOpen

    /**
     * Ends this side's messages, and waits until the peer's device has all of them. The other direction stays open.
     */
    @Throws(InterruptedException::class)
    public fun finish(): Unit = blocking { connection.finish() }

    /**
     * Ends the connection in good order: calls [finish], waits until the peer has finished too, or is gone, or
     * [timeout] is over, and closes the connection. Drops messages that were not received.
     *
     * @throws org.kverbs.cm.ConnectionException if the peer has not taken all messages of this side within [timeout]
     *   and is not gone: the rest is lost
     * @throws InterruptedException if the thread is interrupted; the connection is closed then
     */
    @Throws(InterruptedException::class)
    public fun disconnect(timeout: Duration): Unit = blocking { connection.disconnect(timeout.toKotlinDuration()) }

    /** Ends the connection in good order with a timeout of 5 seconds; otherwise as above. */
    @Throws(InterruptedException::class)
    public fun disconnect(): Unit = blocking { connection.disconnect() }

    /** Ends the connection now, and tells the peer. Messages under way can be lost. */
    override fun close(): Unit = connection.close()

    /** Names the peer's address. */
    override fun toString(): String = connection.toString()
}
