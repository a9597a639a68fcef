package org.kverbs.coroutines

import org.kverbs.MemoryRegion
import org.kverbs.ProtectionDomain
import org.kverbs.RemoteMemory
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.ConnectOptions
import org.kverbs.attributes.QueuePairEndpoint
import org.kverbs.attributes.QueuePairState
import org.kverbs.cm.ConnectionException
import org.kverbs.dsl.RcVerbs
import java.lang.foreign.MemorySegment
import java.net.InetSocketAddress

/**
 * Exchanges messages with a peer over one connected queue pair, with flow control: a sender suspends while the peer has
 * no free slot.
 *
 * ```
 * val channel = dispatcher.messageChannel(pd)
 * // Both sides exchange queuePair.endpoint() and hello, for example through a socket.
 * channel.connect(peerEndpoint, peerHello)
 * channel.send("ping".encodeToByteArray())
 * for (message in channel.incoming) println(message.decodeToString())
 * ```
 *
 * **Messages** arrive whole, once and in the order of sending. A message has 0 bytes up to the peer's
 * [MessageChannelBuilder.maxMessageSize]. A message that fits into a receive slot ([MessageChannelBuilder.slotSize]) is
 * sent into the slot. A longer message, a *large* one, is copied into registered memory of this side; the peer's device
 * reads it from there before the peer's program receives it, unless [MessageChannelBuilder.fetchAhead] is 0. Therefore
 * both sides can send first and receive later, whatever the length.
 *
 * **Cancellation.** A send that is cancelled while it waits for a free slot sends nothing. Later the message is sent
 * all the same, and its buffer stays pinned until the device has finished with it. A receive that is cancelled while it
 * waits takes no message; the next receive gets it. With `withTimeout`, use the message inside the block: the block's
 * result is lost if the time ends at that moment.
 *
 * **Trust.** The peer is not trusted: the worst that its messages can do is to end the channel with a
 * [ChannelProtocolException]. While a large message is under way, the peer can read it, and on some devices the whole
 * memory region that holds its buffer.
 *
 * **Lost peers.** If nothing arrives for [MessageChannelBuilder.keepAlive], the channel asks the peer's device for an
 * answer. Therefore a killed peer or a lost network ends every wait, even in a program that only receives.
 *
 * **Errors.** The first failure ends the channel; every waiting call and every later call throws it. Messages that have
 * arrived can still be received. [incoming] ends without an exception only after the peer's [finish]. After the peer's
 * [close], or the end of its program, calls throw [ChannelClosedException] or the failure. Before the channel is
 * connected, suspend functions throw IllegalStateException.
 *
 * **Threads.** Any thread can call, and any number of coroutines can send and receive at the same time.
 */
public class MessageChannel internal constructor(
    dispatcher: CompletionDispatcher,
    memory: ChannelMemory,
    private val settings: MessageChannelBuilder,
) : AutoCloseable {
    private val link = ChannelLink(dispatcher, memory, settings)
    private val sends = ChannelSends(link)
    private val publications = ChannelPublications(link)

    /**
     * False once the channel has ended: by [close], by the peer's [close], or by a failure. Messages that have arrived
     * can still be received.
     */
    public val isOpen: Boolean get() = link.isAlive

    /** The counts of what the channel has done so far, and what it holds now. */
    public val stats: ChannelStats get() = link.stats

    /**
     * A number that changes with each message and each one-sided operation of this side, but not by the keep-alive
     * alone.
     */
    internal val activity: Long get() = link.keepAlive.activity

    /** The channel's queue pair, for one-sided operations. The channel alone receives messages on it. */
    public val queuePair: AsyncQueuePair<RcVerbs> get() = link.pair.async

    /**
     * The 24 bytes that the peer's [connect] needs besides the endpoint of the queue pair: the number and size of this
     * side's receive slots, and the longest message.
     */
    public val hello: ByteArray get() = settings.hello()

    /**
     * The messages from the peer. Closes when the peer has sent its last message, and fails if the channel ends in
     * another way.
     */
    public val incoming: IncomingMessages = IncomingMessages(link.inbox)

    /**
     * Posts the receives. Call this once, in the state INIT: the peer can send as soon as the queue pair is ready to
     * receive.
     *
     * @param peer the peer's address, which failures name
     */
    internal fun prepare(peer: InetSocketAddress?) {
        link.pair.failures.peer = peer
        link.prepare()
    }

    /**
     * Tells the channel what the peer can take, and lets it send. The queue pair must be ready to send.
     *
     * @param peerHello the peer's [hello]; further bytes are ignored
     * @throws ChannelProtocolException if [peerHello] is not a hello of a message channel of this version
     */
    internal fun start(
        peerHello: ByteArray,
        opening: Opening = Opening.FREE,
    ): Unit = link.start(peerHello, opening)

    /**
     * Connects to the peer's channel without a connection manager. The caller gets the peer's endpoint and [hello] by
     * other means, such as a socket.
     *
     * @param peerHello the peer's [hello]; further bytes are ignored
     * @throws ChannelProtocolException if [peerHello] is not a hello of a message channel of this version
     * @throws org.kverbs.RdmaSystemException if the device refuses a step
     */
    public fun connect(
        remote: QueuePairEndpoint,
        peerHello: ByteArray,
        options: ConnectOptions = ConnectOptions.DEFAULTS,
    ) {
        ChannelHello.parse(peerHello)
        val qp = queuePair.queuePair
        if (qp.state() == QueuePairState.RESET) qp.init(options)
        link.prepare()
        qp.connect(remote, options)
        start(peerHello)
    }

    /**
     * Sends a message: copies the bytes, and returns when the message is under way. Suspends while the peer has no free
     * slot, or while the peer's device has yet to read [MessageChannelBuilder.largeMessages] large messages.
     *
     * @throws IllegalArgumentException if the message is longer than the peer takes
     */
    public suspend fun send(bytes: ByteArray): Unit = link.reporting { sends.send(bytes) }

    /**
     * Sends the first [length] bytes of a buffer, and returns when the peer's device has the message. Until then the
     * buffer belongs to the channel. The bytes are copied in two cases only: the message is large and its buffer lies
     * in a region without REMOTE_READ, or the buffer belongs to another protection domain.
     *
     * @throws IllegalArgumentException if the message is longer than the peer takes
     */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Long = buffer.memory.byteSize(),
    ): Unit = link.reporting { sends.send(buffer, length) }

    /** Sends the first [length] bytes of a buffer, with the length as `Int`. */
    public suspend fun send(
        buffer: RegisteredBuffer,
        length: Int,
    ): Unit = send(buffer, length.toLong())

    /**
     * Receives a message; suspends until there is one.
     *
     * @throws ChannelClosedException if the peer has sent its last message, or has closed the channel
     */
    public suspend fun receive(): ByteArray = receiveOrNull() ?: throw noMore()

    /** Receives a message, or returns null if the peer has sent its last one; suspends until then. */
    public suspend fun receiveOrNull(): ByteArray? = arrived(link.inbox.take())?.bytes

    /**
     * Receives a message into the start of a buffer; suspends until there is one. If the message is large and still
     * lies at the sender, this side's device reads it straight into the buffer, which needs LOCAL_WRITE for that: see
     * [MessageChannelBuilder.fetchAhead]. If the call is cancelled then, the message stays for the next receive, and
     * the device can write to the buffer until it has finished.
     *
     * @return the message's length in bytes
     * @throws IllegalArgumentException if the message is longer than the buffer; the next receive gets it then
     * @throws ChannelClosedException if the peer has sent its last message, or has closed the channel
     */
    public suspend fun receive(into: RegisteredBuffer): Long = receiveOrNull(into) ?: throw noMore()

    /**
     * Receives a message into the start of a buffer, or returns null if the peer has sent its last one; suspends until
     * then. Otherwise the same as [receive] into a buffer.
     *
     * @return the message's length in bytes, or null
     * @throws IllegalArgumentException if the message is longer than the buffer; the next receive gets it then
     */
    public suspend fun receiveOrNull(into: RegisteredBuffer): Long? {
        var room: MemorySegment? = null
        // Pinned before a message is taken: otherwise a buffer that is closed now loses it, or has a new owner already.
        val fits = { length: Long ->
            val memory = into.memory
            requireRoom(length, memory.byteSize())
            into.pin()
            room = memory
        }
        try {
            val arrival = arrived(link.inbox.take(link.canReadInto(into), fits)) ?: return null
            val bytes = arrival.bytes
            if (bytes == null) {
                link.reporting { link.fetches.read(arrival, into) }
            } else {
                MemorySegment.copy(MemorySegment.ofArray(bytes), 0, checkNotNull(room), 0, arrival.length)
            }
            return arrival.length
        } finally {
            if (room != null) into.unpin()
        }
    }

    private fun requireRoom(
        length: Long,
        room: Long,
    ): Unit =
        require(length <= room) {
            "a message of $length bytes came, and the buffer has $room; receive it into a larger one, or with receive()"
        }

    /** Inline, so that only a failing receive makes another suspend call. */
    @Suppress("NOTHING_TO_INLINE")
    private suspend inline fun arrived(arrival: ChannelArrival?): ChannelArrival? {
        if (arrival == null) link.inbox.cause?.let { throw it.calledHere() }
        return arrival
    }

    private fun noMore() =
        ChannelClosedException(
            "the peer has sent its last message; receiveOrNull() and incoming end without an exception",
        )

    /**
     * Publishes [memory] to the peer under a name. The peer gets its address and key, and can then do what [access]
     * allows; this side does not notice the peer's operations. The memory is registered in the channel's domain until
     * [PublishedMemory.withdraw] or the end of the channel. The same memory can be published to many peers; each peer
     * reaches only what was published to it.
     *
     * @param name 1 to 200 bytes in UTF-8, not in use by another publication
     * @param memory native memory that stays alive while it is published
     * @param access what the peer can do; default REMOTE_READ
     * @throws IllegalArgumentException if the name is too long, empty or in use
     * @throws org.kverbs.RdmaSystemException if the device refuses to register the memory
     */
    public suspend fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): PublishedMemory = link.reporting { publications.publish(name, access) { register(memory, it) } }

    /**
     * Publishes [size] bytes of new memory, [PublishedMemory.memory], to the peer under a name; otherwise as above.
     *
     * @param fill fills the memory, which is zero, before the peer is told
     */
    public suspend fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
        fill: MemorySegment.() -> Unit = {},
    ): PublishedMemory = link.reporting { publications.publish(name, access, fill) { allocate(size, it) } }

    /**
     * Publishes a region of the channel's domain to the peer under a name. The peer can do what the region's access
     * flags allow. The caller keeps the region; closing it ends the peer's access, and the peer's operations fail from
     * then on.
     *
     * @throws IllegalArgumentException if the region has no remote access flag or belongs to another domain, or the
     *   name is too long, empty or in use
     */
    public suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = link.reporting { publications.publish(name, region) }

    /**
     * Finds memory that the peer has published under this name. If this side does not know the name, the channel asks
     * the peer and suspends until it answers.
     *
     * @throws NotPublishedException if the peer has not published this name; the message lists the names that it has
     *   published
     */
    public suspend fun remote(name: String): RemoteRegion = link.reporting { remote(link.lookups.find(name)) }

    /**
     * Finds memory that the peer publishes under this name; suspends until it is published.
     *
     * @throws ChannelClosedException if the peer has sent its last message without publishing this name
     */
    public suspend fun awaitRemote(name: String): RemoteRegion = remote(link.remotes.await(name))

    /** Wraps memory of the peer whose address and key came by other means. */
    public fun remote(memory: RemoteMemory): RemoteRegion = RemoteRegion(memory, queuePair, link.transfers)

    /**
     * Ends this side's messages, and suspends until the peer's device has all of them. The other direction stays open.
     * Sends that still wait for a free slot fail with [ChannelClosedException]. A second call only waits for the first.
     */
    public suspend fun finish(): Unit = link.reporting { link.outbox.finish() }

    /**
     * Ends both directions now and closes the queue pair; never blocks for the peer. Tells the peer if the device can
     * still send. Messages under way can be lost: call [finish] before. Waiting calls of both sides fail with
     * [ChannelClosedException]; the peer first receives the messages that have arrived. For the peer this is not an
     * orderly end of the messages, as [finish] is.
     */
    override fun close(): Unit = link.close()

    /**
     * Sets the failure that a flushed request stands for: some devices flush before the connection manager reports the
     * end of the connection.
     */
    internal fun endsBy(end: ConnectionException) {
        link.whenFlushed = end
    }

    /**
     * Ends both directions because the connection is gone: a connection manager knows that at once, the queue pair only
     * when it sends. Every wait fails with [cause], after the messages that have arrived. Does nothing if the channel
     * has ended before. [close] is still needed.
     */
    internal fun fail(cause: Throwable): Unit = link.failBehind(cause)

    /** Ends waits for requests that the device has dropped, some time after the connection has ended. */
    internal fun stop(cause: Throwable): Unit = link.pair.stop(cause)

    /**
     * Drops messages that were not received, and suspends until the peer has sent its last one and its device knows
     * which of its large messages were read, or the channel has ended.
     */
    internal suspend fun awaitPeersEnd() {
        link.inbox.drop(null)
        link.inbox.end.await()
        link.reporting { link.outbox.awaitAnswers() }
    }

    /** Names the queue pair. */
    override fun toString(): String = "message channel on ${queuePair.queuePair.describe()}"
}

/**
 * Creates a message channel that is not connected: `dispatcher.messageChannel(pd) { receiveSlots(64) }`.
 *
 * @throws IllegalArgumentException if the domain belongs to another context or has a thread domain, or the pool belongs
 *   to another domain
 * @throws org.kverbs.RdmaSystemException if the device refuses the memory or the queue pair
 */
public fun CompletionDispatcher.messageChannel(
    pd: ProtectionDomain,
    block: MessageChannelBuilder.() -> Unit = {},
): MessageChannel {
    requireDispatchable(pd)
    val settings = MessageChannelBuilder().apply(block)
    settings.pool?.requireDomain(pd)
    return MessageChannel(this, PrivateMemory(pd, settings), settings)
}
