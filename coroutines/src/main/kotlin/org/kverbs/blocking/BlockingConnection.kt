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
 * A connection of messages whose calls block their thread: a [MessageConnection] for Java. Any thread, any number of
 * senders and receivers.
 *
 * An interrupt cancels a wait as a cancelled coroutine does: a send that waited for room has sent nothing, and a
 * receive has taken no message.
 *
 * **Errors.** [org.kverbs.coroutines.ChannelClosedException] after the end of the connection, and
 * [org.kverbs.RdmaException] why it failed, after the messages that had come.
 *
 * **Ownership.** A server's connection is ended when its handler returns; a client closes its own.
 */
public class BlockingConnection internal constructor(
    private val connection: MessageConnection,
    private val stopping: Job = Job(),
) : AutoCloseable {
    /** Sends a message, of any number of bytes up to what the peer takes; waits while the peer has no room. */
    @Throws(InterruptedException::class)
    public fun send(message: ByteArray): Unit = blocking { connection.send(message) }

    /**
     * Receives a message; waits until there is one.
     *
     * @throws org.kverbs.coroutines.ChannelClosedException if the peer has sent its last one
     */
    @Throws(InterruptedException::class)
    public fun receive(): ByteArray = blocking { connection.receive() }

    /**
     * Receives a message if one comes in time; zero takes only one that is there.
     *
     * @throws TimeoutException if none came; nothing is lost, and the next call receives the next one
     */
    @Throws(InterruptedException::class, TimeoutException::class)
    public fun receive(timeout: Duration): ByteArray = blocking(timeout) { connection.receive() }

    /** Receives a message, or returns null if the peer has sent its last one. */
    @Throws(InterruptedException::class)
    public fun receiveOrNull(): ByteArray? = blocking { connection.receiveOrNull() }

    /**
     * Receives a message, or returns null if the peer has sent its last one, or if the server that this connection
     * belongs to is being stopped ([BlockingServer.stop]) or closed. A handler that returns then ends in good order,
     * and not by an interrupt at the deadline; its client is told that no more messages come:
     *
     * ```java
     * for (byte[] question; (question = connection.receiveUnlessStopping()) != null; ) {
     *     connection.send(answer(question));
     * }
     * ```
     *
     * A message that is there comes first. With a client's connection this is [receiveOrNull].
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

    /** Whether the server that this connection belongs to is being stopped or closed; false with a client's. */
    public fun isStopping(): Boolean = stopping.isCompleted

    /**
     * Lets the peer use [size] bytes of new memory under a name: the peer can then do what [access] allows, without
     * this side noticing. They are this connection's alone, until [BlockingPublishedMemory.withdraw] or its end.
     *
     * @param name 1 to 200 bytes in UTF-8, not published now
     * @param access what the peer can do; default is REMOTE_READ
     * @throws IllegalArgumentException if the name is not possible
     * @throws org.kverbs.RdmaSystemException if the device refuses to register the memory
     */
    @Throws(InterruptedException::class)
    public fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
    ): BlockingPublishedMemory = blocking { BlockingPublishedMemory(connection.publish(name, size, *access)) }

    /**
     * The same, and [fill] writes into the memory what the peer shall find there, before the peer is told. The memory
     * is zero before.
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
     * The same with native memory of the caller's, which stays alive as long as it is published. It can be published to
     * many peers.
     */
    @Throws(InterruptedException::class)
    public fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): BlockingPublishedMemory = blocking { BlockingPublishedMemory(connection.publish(name, memory, *access)) }

    /**
     * Memory that the peer has published by this name.
     *
     * @throws org.kverbs.coroutines.NotPublishedException if the peer has not published it; it lists what is published
     */
    @Throws(InterruptedException::class)
    public fun remote(name: String): BlockingRemoteRegion = blocking { BlockingRemoteRegion(connection.remote(name)) }

    /**
     * Memory that the peer publishes by this name; waits until it has.
     *
     * @throws org.kverbs.coroutines.ChannelClosedException if the peer has sent its last message and not published it
     */
    @Throws(InterruptedException::class)
    public fun awaitRemote(name: String): BlockingRemoteRegion =
        blocking { BlockingRemoteRegion(connection.awaitRemote(name)) }

    /** What the peer gave along when the connection was made, with zeros behind it on InfiniBand and RoCE. */
    public fun privateData(): ByteArray = connection.privateData

    /** The peer's address and port; null if it is not known. */
    public fun remoteAddress(): InetSocketAddress? = connection.remoteAddress

    /** This side's address and port; null if it is not known. */
    public fun localAddress(): InetSocketAddress? = connection.localAddress

    /**
     * False once either side has ended the connection, or it has failed, and this side knows it. What had come can
     * still be received.
     */
    public fun isOpen(): Boolean = connection.isOpen

    /**
     * Says that no more messages come from here, and waits until the peer's device has all that were sent. The other
     * direction stays open.
     */
    @Throws(InterruptedException::class)
    public fun finish(): Unit = blocking { connection.finish() }

    /**
     * Ends the connection in good order: finishes, waits until the peer has finished too, or has gone, or [timeout] is
     * over, and closes. Messages that nobody has received are dropped.
     *
     * @throws org.kverbs.cm.ConnectionException if the peer has not gone and had not taken all messages of this side in
     *   that time: those are lost
     * @throws InterruptedException if the thread is interrupted; the connection is closed then
     */
    @Throws(InterruptedException::class)
    public fun disconnect(timeout: Duration): Unit = blocking { connection.disconnect(timeout.toKotlinDuration()) }

    /** The same with a timeout of 5 seconds. */
    @Throws(InterruptedException::class)
    public fun disconnect(): Unit = blocking { connection.disconnect() }

    /** Ends the connection now; messages under way may be lost. The peer is told. */
    override fun close(): Unit = connection.close()

    /** Names the peer's address. */
    override fun toString(): String = connection.toString()
}
