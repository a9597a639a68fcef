package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import org.kverbs.dsl.KiB
import org.kverbs.dsl.MiB
import org.kverbs.dsl.RdmaDsl
import kotlin.coroutines.CoroutineContext
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** What a [MessageChannel] is made from. Mutable within its block; nothing of it is kept. */
@RdmaDsl
public class MessageChannelBuilder internal constructor() {
    internal var receiveSlots = 16
    internal var slotSize = 4.KiB.toInt()
    private var ownSendSlots: Int? = null
    internal var oneSided = 32
    internal var largeMessages = 4
    internal var maxMessage = 64.MiB
    internal var fetchAhead = 1.MiB.toInt()
    internal var keepAlive: Duration? = 5.seconds
    internal var pool: BufferPool? = null

    /** Where the time of the keep-alive passes. */
    internal var context: CoroutineContext = Dispatchers.Default

    /** Where the channel takes what it holds of large messages, if a server limits that. */
    internal var memoryShare: ServerMemory.Share? = null

    internal val sendSlots: Int get() = ownSendSlots ?: receiveSlots

    /** Bytes of all receive slots. */
    internal val slotBytes: Long
        get() = (receiveSlots + largeMessages + ChannelMessage.CONTROL_SLOTS).toLong() * slotSize

    /** Messages that the peer can have sent here and that nobody has received yet, 1 to 4096; default 16. */
    public fun receiveSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "receiveSlots($count): give 1 to $MAX_SLOTS" }
        receiveSlots = count
    }

    /**
     * Bytes of a slot, a multiple of 8, 256 to 1 MiB; default 4096. A message of up to 8 bytes less is sent into a
     * slot; the smaller slots of the two sides count. The receiver's device reads a longer one out of the sender's
     * memory.
     *
     * Up to 4096 the connections of a device share their receive slots, at most 1024, where the device has shared
     * receive queues and memory windows of type 2, and is no iWARP device. Elsewhere, above 4096, and in a domain that
     * is shared with others, each connection has all its slots from the beginning.
     */
    public fun slotSize(bytes: Int) {
        require(bytes in MIN_SLOT..MAX_SLOT && bytes % 8 == 0) {
            "slotSize($bytes): give a multiple of 8, $MIN_SLOT to $MAX_SLOT"
        }
        slotSize = bytes
    }

    /**
     * Messages of this side that the devices can have under way, 1 to 4096. The peer's receive slots are a limit, too,
     * so the default is this side's number of them.
     */
    public fun sendSlots(count: Int) {
        require(count in 1..MAX_SLOTS) { "sendSlots($count): give 1 to $MAX_SLOTS" }
        ownSendSlots = count
    }

    /** Reads, writes and atomics that can be under way, those for large messages too; default 32. */
    public fun oneSided(count: Int) {
        require(count in 1..MAX_SLOTS) { "oneSided($count): give 1 to $MAX_SLOTS" }
        oneSided = count
    }

    /**
     * Large messages of this side that can wait to be read by the peer, 1 to 256; default 4. Each takes one receive
     * slot more.
     */
    public fun largeMessages(count: Int) {
        require(count in 1..MAX_LARGE) { "largeMessages($count): give 1 to $MAX_LARGE" }
        largeMessages = count
    }

    /**
     * Bytes of the longest message that is taken from the peer, below 2 GiB; default 64 MiB. A peer that announces a
     * longer one ends the channel.
     */
    public fun maxMessage(bytes: Long) {
        require(bytes in 1..MAX_MESSAGE) { "maxMessage($bytes): give 1 to $MAX_MESSAGE" }
        maxMessage = bytes
    }

    /**
     * Bytes of large messages that are read out of the peer's memory before somebody receives them; default 1 MiB. Each
     * is read when it is announced, as far as it fits; a longer message is read when no other large one is held. So a
     * channel holds at most this many bytes of large messages, or one message of up to [maxMessage].
     */
    public fun fetchAhead(bytes: Int) {
        require(bytes >= 1) { "fetchAhead($bytes): give 1 or more" }
        fetchAhead = bytes
    }

    /**
     * How long nothing may come from the peer before the channel looks whether the peer is still there, above 0;
     * default 5 seconds, null is never. It looks by an RDMA write of no bytes, which the peer's device answers without
     * the peer's program. A peer that does not answer ends the channel, after the retries of the queue pair.
     */
    public fun keepAlive(interval: Duration?) {
        require(interval == null || interval > Duration.ZERO) { "keepAlive($interval): give a time above 0, or null" }
        keepAlive = interval
    }

    /**
     * Where the coroutine of the keep-alive runs, and by whose time: default Dispatchers.Default, and for connections
     * that of their host ([RdmaHostBuilder.context]). For tests on a virtual clock.
     */
    public fun context(context: CoroutineContext) {
        this.context = context.minusKey(Job)
    }

    /**
     * Where memory for large messages that come and for one-sided operations is taken from, as far as it has a buffer
     * of the size to spare; default is memory of the channel's own, registered when it is first needed. Only this side
     * reaches it: the peer reads large messages out of other memory. The pool must be of the channel's protection
     * domain; a connection is in a domain of its own unless it is made with [ClientBuilder.sharedDomain] or
     * [ServerBuilder.sharedDomain], and in [RdmaNode.pd] then.
     */
    public fun pool(pool: BufferPool) {
        this.pool = pool
    }

    internal fun hello(): ByteArray = ChannelHello(receiveSlots, slotSize, maxMessage).toBytes()

    private companion object {
        const val MAX_SLOTS = 4096
        const val MIN_SLOT = 256
        const val MAX_SLOT = 1 shl 20
        const val MAX_LARGE = 256

        /** Fits into an array. */
        const val MAX_MESSAGE = Int.MAX_VALUE - 8L
    }
}
