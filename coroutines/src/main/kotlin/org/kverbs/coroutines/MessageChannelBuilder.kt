package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Configures a [MessageChannel]. Mutable within its block. */
@RdmaDsl
public class MessageChannelBuilder internal constructor() {
    internal var receiveSlots = 16
    internal var slotSize = 4.KiB.toInt()
    private var ownSendSlots: Int? = null
    internal var oneSidedOperations = 32
    internal var largeMessages = 4
    internal var maxMessageSize = 64.MiB
    internal var fetchAhead = 1.MiB.toInt()
    internal var keepAlive: Duration? = 5.seconds
    internal var pool: BufferPool? = null

    /** The context of the keep-alive's coroutine; its clock counts the time. */
    internal var context: CoroutineContext = Dispatchers.Default

    /** The server's memory limit that the channel's large messages count against; null without a server. */
    internal var memoryShare: ServerMemory.Share? = null

    internal val sendSlots: Int get() = ownSendSlots ?: receiveSlots

    /** Bytes of all receive slots. */
    internal val slotBytes: Long
        get() = (receiveSlots + largeMessages + ChannelMessage.CONTROL_SLOTS).toLong() * slotSize

    /** Sets the number of messages that the peer can send ahead of the receiver, 1 to 4096; default 16. */
    public fun receiveSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "receiveSlots($count): give 1 to $MAX_SLOTS" }
        receiveSlots = count
    }

    /**
     * Sets the bytes of a slot, a multiple of 8 from 256 to 1 MiB; default 4096. A message of at most 8 bytes less is
     * sent into a slot; if the sides differ, the smaller size counts. The receiver's device reads a longer message from
     * the sender's memory.
     *
     * The connections of a device share their receive slots, at most 1024, if the slot has at most 4096 bytes, the
     * device supports shared receive queues and type 2 memory windows, and the device is not iWARP. Otherwise, and with
     * a shared protection domain, each connection has slots of its own.
     */
    public fun slotSize(bytes: Long) {
        require(bytes in MIN_SLOT..MAX_SLOT && bytes % 8 == 0L) {
            "slotSize($bytes): give a multiple of 8, $MIN_SLOT to $MAX_SLOT"
        }
        slotSize = bytes.toInt()
    }

    /**
     * Sets the number of messages of this side under way at once, 1 to 4096; default is the number of receive slots of
     * this side. The peer's receive slots limit it, too.
     */
    public fun sendSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "sendSlots($count): give 1 to $MAX_SLOTS" }
        ownSendSlots = count
    }

    /**
     * Sets the number of reads, writes and atomics under way at once, 1 to 4096, including those for large messages;
     * default 32.
     */
    public fun oneSidedOperations(count: Int) {
        require(count in 1..MAX_SLOTS) { "oneSidedOperations($count): give 1 to $MAX_SLOTS" }
        oneSidedOperations = count
    }

    /**
     * Sets the number of large messages of this side that can wait for the peer to read them, 1 to 256; default 4. Each
     * adds one receive slot.
     */
    public fun largeMessages(count: Int) {
        require(count in 1..MAX_LARGE) { "largeMessages($count): give 1 to $MAX_LARGE" }
        largeMessages = count
    }

    /**
     * Sets the longest message that the peer can send, in bytes, below 2 GiB; default 64 MiB. A peer that announces a
     * longer message ends the channel.
     */
    public fun maxMessageSize(bytes: Long) {
        require(bytes in 1..MAX_MESSAGE) { "maxMessageSize($bytes): give 1 to $MAX_MESSAGE" }
        maxMessageSize = bytes
    }

    /**
     * Limits the bytes of large messages that the channel reads from the peer's memory before the program receives
     * them; default 1 MiB, below 2 GiB. A message within the limit is read when the peer announces it; a longer one is
     * read when the channel holds no other large message. Therefore a channel holds at most this many bytes of large
     * messages, or one message of up to [maxMessageSize].
     *
     * With 0, a large message stays in the sender's memory until the program receives it. Then [MessageChannel.receive]
     * into a buffer costs no copy and no memory of the channel. In turn a send of a buffer returns only when the peer's
     * program has received the message, and [largeMessages] sends of byte arrays go ahead of it. A loop that only asks
     * `incoming.isEmpty` never ends then: the channel fetches a message for a call of `receive` or `tryReceive` alone.
     */
    public fun fetchAhead(bytes: Long) {
        require(bytes in 0..Int.MAX_VALUE) { "fetchAhead($bytes): give 0 to ${Int.MAX_VALUE}" }
        fetchAhead = bytes.toInt()
    }

    /**
     * Sets the time without anything from the peer after which the channel probes it, above 0; default 5 s, null for
     * never. The probe is an RDMA write of no bytes, which the peer's device answers without the peer's program. If the
     * peer does not answer, the channel ends after the retries of the queue pair.
     */
    public fun keepAlive(interval: Duration?) {
        require(interval == null || interval > Duration.ZERO) { "keepAlive($interval): give a time above 0, or null" }
        keepAlive = interval
    }

    /**
     * Sets the context of the keep-alive's coroutine, whose clock counts the time: default Dispatchers.Default, and for
     * connections [RdmaHostBuilder.context]. Use it in tests with virtual time.
     */
    public fun context(context: CoroutineContext) {
        this.context = context.minusKey(Job)
    }

    /**
     * Sets the pool that supplies memory for incoming large messages and for one-sided operations, if it has a free
     * buffer of the size. By default, and if the pool has none, the channel registers memory of its own when it first
     * needs it. Only this side reaches the pool's memory: the peer reads large messages from other memory. The pool
     * must belong to the channel's protection domain. A connection has a domain of its own unless it is created with
     * [ClientBuilder.sharedDomain] or [ServerBuilder.sharedDomain]; its domain is [RdmaNode.pd] then.
     */
    public fun pool(pool: BufferPool) {
        this.pool = pool
    }

    internal fun hello(): ByteArray = ChannelHello(receiveSlots, slotSize, maxMessageSize).toBytes()

    private companion object {
        const val MAX_SLOTS = 4096
        const val MIN_SLOT = 256L
        const val MAX_SLOT = 1L shl 20
        const val MAX_LARGE = 256

        /** The longest byte array. */
        const val MAX_MESSAGE = Int.MAX_VALUE - 8L
    }
}
