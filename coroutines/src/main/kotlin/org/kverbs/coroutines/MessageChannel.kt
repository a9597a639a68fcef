package org.kverbs.coroutines

import org.kverbs.ConnectOptions
import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePairEndpoint
import org.kverbs.QueuePairState
import org.kverbs.RemoteMemory
import org.kverbs.dsl.RcVerbs

/**
 * Messages in both directions over one connected queue pair, with flow control: a sender suspends while the peer has no room.
 *
 * ```
 * val channel = dispatcher.messageChannel(pd)
 * channel.connect(peerEndpoint, peerHello)        // both got from the peer by any means, who gets channel's endpoint() and hello
 * channel.send("ping".encodeToByteArray())
 * for (message in channel.incoming) println(message.decodeToString())
 * ```
 *
 * **Messages** come whole, once and in the order of sending, with any number of bytes from 0. Those that fit into a slot
 * ([MessageChannelSettings.slotSize]) are sent into it. Longer ones stay in the sender's memory until the receiver takes them and reads
 * them out of it; their sender is suspended until then.
 *
 * **Cancellation.** A cancelled send has sent nothing as long as it waited for room; after that the message goes on its way, and a
 * buffer stays pinned until nobody needs it. A cancelled receive takes no message; the next one gets it.
 *
 * **The peer** isn't trusted: what it sends may end the channel with a [ChannelProtocolException], nothing else. It can read the large
 * message that waits for it, and with it all of the region that a buffer of a pool stands in.
 *
 * **Errors.** The first failure ends the channel; every wait, and every later call, throws it. Messages that had come can still be
 * received. [ChannelClosedException] after the end by [finish] or [close]. Suspend functions also throw IllegalStateException before
 * [start].
 *
 * Any thread, any number of senders and receivers.
 */
public class MessageChannel internal constructor(
    dispatcher: CompletionDispatcher,
    pd: ProtectionDomain,
    private val settings: MessageChannelSettings,
) : AutoCloseable {
    private val link = ChannelLink(dispatcher, pd, settings)
    private val sends = ChannelSends(link, pd)
    private val transfers = RemoteTransfers(link.pair.oneSided, pd, settings.pool)
    private val receives = ChannelReader(link, transfers)
    private val publications = ChannelPublications(link)

    /** False once it has ended: by [close], the peer's, or a failure. What had come can still be received. */
    public val isOpen: Boolean get() = link.isAlive

    /** Its queue pair, for one-sided operations. Messages come to the channel alone. */
    public val queuePair: AsyncQueuePair<RcVerbs> get() = link.pair.async

    /** What the peer's [start] needs, 24 bytes: how many slots there are here, and how large. */
    public val hello: ByteArray get() = settings.hello()

    /** What came, for a `for` loop. It ends when the peer has sent its last message. */
    public val incoming: IncomingMessages get() = IncomingMessages(this)

    /** Posts the receives. The queue pair must be in INIT, and not ready to receive yet: a message needs a receive. Once. */
    public fun prepare(): Unit = link.receives.postAll()

    /**
     * Says what the peer can take; from here on messages can be sent. The queue pair must be ready to send.
     *
     * @param peerHello the peer's [hello]; what follows its 24 bytes doesn't matter
     * @throws ChannelProtocolException if it isn't one
     */
    public fun start(peerHello: ByteArray): Unit = link.start(peerHello)

    /** All the steps: INIT, [prepare], ready to receive and send, [start]. For who has no connection manager. */
    public fun connect(
        remote: QueuePairEndpoint,
        peerHello: ByteArray,
        options: ConnectOptions = ConnectOptions.DEFAULTS,
    ) {
        ChannelHello.parse(peerHello)
        val qp = queuePair.queuePair
        if (qp.state() == QueuePairState.RESET) qp.init(options)
        prepare()
        qp.connect(remote, options)
        start(peerHello)
    }

    /**
     * Sends a message. A short one is copied and on its way when this returns; a longer one has been read by the peer then.
     *
     * @throws IllegalArgumentException if the peer doesn't take so long a message
     */
    public suspend fun send(bytes: ByteArray): Unit = link.reporting { sends.send(bytes) }

    /**
     * Sends the first [length] bytes of a buffer, which are the channel's until this returns: the peer's device has a short message then, and
     * the peer has read a long one. Nothing is copied, but for a long message whose buffer stands in a region without REMOTE_READ.
     *
     * @throws IllegalArgumentException if the peer doesn't take so long a message
     */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Long = buffer.memory.byteSize(),
    ): Unit = link.reporting { sends.send(buffer, length) }

    /**
     * Receives a message; suspends until there is one.
     *
     * @throws ChannelClosedException if the peer has sent its last one
     */
    public suspend fun receive(): ByteArray = receiveOrNull() ?: throw noMore()

    /** The same, but null if the peer has sent its last message. */
    public suspend fun receiveOrNull(): ByteArray? = link.reporting { receives.receive() }

    /**
     * Receives a message into a buffer, a long one straight out of the peer's memory.
     *
     * @return its length in bytes
     * @throws IllegalArgumentException if it is longer than the buffer; the message is the next receive's then
     * @throws ChannelClosedException if the peer has sent its last one
     */
    public suspend fun receive(into: RegisteredBuffer): Long = link.reporting { receives.receive(into) } ?: throw noMore()

    private fun noMore() =
        ChannelClosedException("the peer has sent its last message; receiveOrNull and incoming tell that without an exception")

    /**
     * Lets the peer use a region of this side under a name: it gets address and key, and can then do what the region's access flags
     * allow, without this side noticing. The region stays the caller's; closing it ends the peer's access, and its operations
     * fail then.
     *
     * @param name 1 to 200 bytes in UTF-8, not published now
     * @throws IllegalArgumentException if the region allows a peer nothing, or the name isn't possible
     */
    public suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = link.reporting { publications.publish(name, region) }

    /**
     * A region that the peer has published; suspends until it has.
     *
     * @throws ChannelClosedException if the peer has sent its last message and not published it
     */
    public suspend fun remote(name: String): RemoteRegion = remote(link.remotes.await(name))

    /** Memory of the peer that was made known by other means. */
    public fun remote(memory: RemoteMemory): RemoteRegion = RemoteRegion(memory, queuePair, transfers)

    /**
     * Says that no more messages come from here, and suspends until the peer's device has all that were sent. The other direction stays
     * open. Sends that still wait for room fail with [ChannelClosedException]. A second call does nothing.
     */
    public suspend fun finish(): Unit = link.reporting { link.outbox.finish() }

    /**
     * Ends both directions now and closes the queue pair; never suspends. The peer is told, if the message still gets through; messages under
     * way may be lost, so call [finish] before. Waits of both sides end with [ChannelClosedException]; the peer's receives first give
     * what had come.
     */
    override fun close(): Unit = link.close()

    /**
     * Ends both directions because the connection is gone, as a connection manager knows at once and the queue pair only when it
     * sends: every wait fails with [cause], after what had come. Nothing if it has ended before. [close] is needed still.
     */
    public fun fail(cause: Throwable): Unit = link.fail(cause)

    override fun toString(): String = "message channel on ${queuePair.queuePair.describe()}"
}

/**
 * Makes a message channel, not connected: `dispatcher.messageChannel(pd) { receiveSlots(64) }`.
 *
 * @throws IllegalArgumentException if the domain belongs to another open device
 * @throws org.kverbs.RdmaSystemException if the device refuses the memory or the queue pair
 */
public fun CompletionDispatcher.messageChannel(
    pd: ProtectionDomain,
    block: MessageChannelSettings.() -> Unit = {},
): MessageChannel {
    require(pd.context() === context) { "${pd.describe()} belongs to another open device than the dispatcher; make both from one context" }
    return MessageChannel(this, pd, MessageChannelSettings().apply(block))
}
