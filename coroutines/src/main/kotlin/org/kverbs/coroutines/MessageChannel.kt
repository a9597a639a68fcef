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

/**
 * Messages in both directions over one connected queue pair, with flow control: a sender suspends while the peer has no
 * room.
 *
 * ```
 * val channel = dispatcher.messageChannel(pd)
 * // The peer gets channel.queuePair.endpoint() and channel.hello by any means, and gives its own.
 * channel.connect(peerEndpoint, peerHello)
 * channel.send("ping".encodeToByteArray())
 * for (message in channel.incoming) println(message.decodeToString())
 * ```
 *
 * **Messages** come whole, once and in the order of sending, with any number of bytes from 0 to the peer's
 * [MessageChannelBuilder.maxMessage]. Messages that fit into a slot ([MessageChannelBuilder.slotSize]) are sent into
 * it. Longer ones are copied into memory of this side, out of which the peer's device reads them before its program
 * asks for them ([MessageChannelBuilder.fetchAhead]). So both sides can send first and receive then, whatever the
 * length.
 *
 * **Cancellation.** A cancelled send has sent nothing as long as it waited for room; after that the message goes on its
 * way, and a buffer stays pinned until nobody needs it. A receive that is cancelled while it waits takes no message;
 * the next one gets it. In a `withTimeout`, use the message within its block: what the block returns is lost if the
 * time is over just then.
 *
 * **The peer** isn't trusted: what it sends may end the channel with a [ChannelProtocolException], nothing else. It can
 * read a large message that is on its way, and with it all of the region in which the message's buffer stands.
 *
 * **A peer that is gone.** If nothing comes for [MessageChannelBuilder.keepAlive], the channel asks the peer's device
 * for an answer. A peer that was killed or lost its network therefore ends every wait, also one that only receives.
 *
 * **Errors.** The first failure ends the channel; every wait, and every later call, throws it. Messages that had come
 * can still be received. Only [finish] of the peer ends [incoming] without an exception; after its [close], or the end
 * of its program, [ChannelClosedException] or the failure is thrown. Suspend functions also throw IllegalStateException
 * before the channel is connected.
 *
 * Any thread, any number of senders and receivers.
 */
public class MessageChannel internal constructor(
    dispatcher: CompletionDispatcher,
    memory: ChannelMemory,
    private val settings: MessageChannelBuilder,
) : AutoCloseable {
    private val link = ChannelLink(dispatcher, memory, settings)
    private val sends = ChannelSends(link)
    private val publications = ChannelPublications(link)

    /** False once it has ended: by [close], the peer's, or a failure. What had come can still be received. */
    public val isOpen: Boolean get() = link.isAlive

    /** What it has done, and what it holds now. */
    public val stats: ChannelStats get() = link.stats

    /** A number that changes with all that comes and goes over it, and not by its keep-alive alone. */
    internal val activity: Long get() = link.keepAlive.activity

    /** Its queue pair, for one-sided operations. Messages come to the channel alone. */
    public val queuePair: AsyncQueuePair<RcVerbs> get() = link.pair.async

    /**
     * What the peer's [connect] needs beside the endpoint of the queue pair, 24 bytes: how many slots there are here,
     * and how large.
     */
    public val hello: ByteArray get() = settings.hello()

    /**
     * The messages that come. It is closed when the peer has sent its last message, and fails if the channel ends in
     * another way.
     */
    public val incoming: IncomingMessages = IncomingMessages(link.inbox)

    /**
     * Posts the receives. The queue pair must be in INIT, and not ready to receive yet: a message needs a receive.
     * Once.
     */
    internal fun prepare(): Unit = link.prepare()

    /**
     * Says what the peer can take; from here on messages can be sent. The queue pair must be ready to send.
     *
     * @param peerHello the peer's [hello]; what follows its 24 bytes doesn't matter
     * @throws ChannelProtocolException if it isn't one
     */
    internal fun start(
        peerHello: ByteArray,
        opening: Opening = Opening.FREE,
    ): Unit = link.start(peerHello, opening)

    /**
     * Connects to the peer's channel without a connection manager. The peer's endpoint and [hello] come by any means,
     * such as a socket.
     *
     * @param peerHello the peer's [hello]; bytes behind it do not matter
     * @throws ChannelProtocolException if it is no hello of a message channel of this version
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
        prepare()
        qp.connect(remote, options)
        start(peerHello)
    }

    /**
     * Sends a message. The bytes are copied, and the message is on its way when this returns. Suspends while the peer
     * has no room, or while [MessageChannelBuilder.largeMessages] longer ones have not been read by the peer's device.
     *
     * @throws IllegalArgumentException if the peer doesn't take so long a message
     */
    public suspend fun send(bytes: ByteArray): Unit = link.reporting { sends.send(bytes) }

    /**
     * Sends the first [length] bytes of a buffer, which are the channel's until this returns: the peer's device has the
     * message then. Nothing is copied, but for a long message whose buffer stands in a region without REMOTE_READ, and
     * a buffer of another protection domain.
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
     * @throws ChannelClosedException if the peer has sent its last one, or has closed the channel
     */
    public suspend fun receive(): ByteArray = receiveOrNull() ?: throw noMore()

    /** The same, but null if the peer has sent its last message. */
    public suspend fun receiveOrNull(): ByteArray? = arrived(link.inbox.take())?.bytes

    /**
     * Receives a message into the beginning of a buffer.
     *
     * @return its length in bytes
     * @throws IllegalArgumentException if it is longer than the buffer; the message is the next receive's then
     * @throws ChannelClosedException if the peer has sent its last one, or has closed the channel
     */
    public suspend fun receive(into: RegisteredBuffer): Long {
        val arrival = arrived(link.inbox.take { requireRoom(it, into.memory.byteSize()) }) ?: throw noMore()
        into.memory.asSlice(0, arrival.length).copyFrom(MemorySegment.ofArray(arrival.bytes))
        return arrival.length
    }

    private fun requireRoom(
        length: Long,
        room: Long,
    ): Unit =
        require(length <= room) {
            "a message of $length bytes came, the buffer has $room; take it with a larger one, or receive()"
        }

    /** Inline: only a receive that fails makes a suspended call more. */
    @Suppress("NOTHING_TO_INLINE")
    private suspend inline fun arrived(arrival: ChannelArrival?): ChannelArrival? {
        if (arrival == null) link.inbox.cause?.let { throw it.calledHere() }
        return arrival
    }

    private fun noMore() =
        ChannelClosedException(
            "the peer has sent its last message; receiveOrNull and incoming tell that without an exception",
        )

    /**
     * Lets the peer use [memory] of this side under a name: it gets address and key, and can then do what [access]
     * allows, without this side noticing. The memory is registered in the channel's domain until
     * [PublishedMemory.withdraw] or the end of the channel, so the same memory can be published to many peers, and none
     * of them reaches more than what was published to it.
     *
     * @param name 1 to 200 bytes in UTF-8, not published now
     * @param memory native memory that stays alive as long as it is published
     * @param access what the peer can do; default is REMOTE_READ
     * @throws IllegalArgumentException if the name isn't possible
     * @throws org.kverbs.RdmaSystemException if the device refuses to register the memory
     */
    public suspend fun publish(
        name: String,
        memory: MemorySegment,
        vararg access: AccessFlag,
    ): PublishedMemory = link.reporting { publications.publish(name, access) { register(memory, it) } }

    /**
     * The same with [size] bytes of new memory, which are [PublishedMemory.memory].
     *
     * @param fill writes what the peer shall find there; runs before the peer is told. The memory is zero before.
     */
    public suspend fun publish(
        name: String,
        size: Long,
        vararg access: AccessFlag,
        fill: MemorySegment.() -> Unit = {},
    ): PublishedMemory = link.reporting { publications.publish(name, access, fill) { allocate(size, it) } }

    /**
     * The same with a region that is registered already, in the channel's domain; the peer can do what the region's
     * access flags allow. The region stays the caller's; closing it ends the peer's access, and its operations fail
     * then.
     *
     * @throws IllegalArgumentException if the region allows a peer nothing or belongs to another domain, or the name
     *   isn't possible
     */
    public suspend fun publish(
        name: String,
        region: MemoryRegion,
    ): PublishedMemory = link.reporting { publications.publish(name, region) }

    /**
     * Memory that the peer has published by this name. Asks the peer if it is not known here, and suspends until it has
     * answered.
     *
     * @throws NotPublishedException if the peer has not published it; it lists what is published
     */
    public suspend fun remote(name: String): RemoteRegion = link.reporting { remote(link.lookups.find(name)) }

    /**
     * Memory that the peer publishes by this name; suspends until it has.
     *
     * @throws ChannelClosedException if the peer has sent its last message and not published it
     */
    public suspend fun awaitRemote(name: String): RemoteRegion = remote(link.remotes.await(name))

    /** Memory of the peer that was made known by other means. */
    public fun remote(memory: RemoteMemory): RemoteRegion = RemoteRegion(memory, queuePair, link.transfers)

    /**
     * Says that no more messages come from here, and suspends until the peer's device has all that were sent. The other
     * direction stays open. Sends that still wait for room fail with [ChannelClosedException]. A second call waits for
     * the first, and does nothing.
     */
    public suspend fun finish(): Unit = link.reporting { link.outbox.finish() }

    /**
     * Ends both directions now and closes the queue pair; never suspends. The peer is told, if the message still gets
     * through; messages under way may be lost, so call [finish] before. Waits of both sides end with
     * [ChannelClosedException]; the peer's receives first give what had come. It is no orderly end of the messages for
     * the peer, as [finish] is.
     */
    override fun close(): Unit = link.close()

    /**
     * Says what it means that the device flushes requests: some devices do so before the connection manager tells of
     * the end of the connection.
     */
    internal fun endsBy(end: ConnectionException) {
        link.whenFlushed = end
    }

    /**
     * Ends both directions because the connection is gone, as a connection manager knows at once and the queue pair
     * only when it sends: every wait fails with [cause], after what had come. Nothing if it has ended before. [close]
     * is needed still.
     */
    internal fun fail(cause: Throwable): Unit = link.failBehind(cause)

    /** Ends what waits for requests that the device has forgotten, as the connection has ended a while ago. */
    internal fun stop(cause: Throwable): Unit = link.pair.stop(cause)

    /**
     * Drops the messages that nobody has received, and suspends until the peer has sent its last one or the channel has
     * ended.
     */
    internal suspend fun awaitPeersEnd() {
        link.inbox.drop(null)
        link.inbox.end.await()
    }

    /** Names the queue pair. */
    override fun toString(): String = "message channel on ${queuePair.queuePair.describe()}"
}

/**
 * Makes a message channel, not connected: `dispatcher.messageChannel(pd) { receiveSlots(64) }`.
 *
 * @throws IllegalArgumentException if the domain belongs to another open device, or the pool to another domain
 * @throws org.kverbs.RdmaSystemException if the device refuses the memory or the queue pair
 */
public fun CompletionDispatcher.messageChannel(
    pd: ProtectionDomain,
    block: MessageChannelBuilder.() -> Unit = {},
): MessageChannel {
    require(pd.context() === context) {
        "${pd.describe()} belongs to another open device than the dispatcher; make both from one context"
    }
    val settings = MessageChannelBuilder().apply(block)
    settings.pool?.requireDomain(pd)
    return MessageChannel(this, PrivateMemory(pd, settings), settings)
}
