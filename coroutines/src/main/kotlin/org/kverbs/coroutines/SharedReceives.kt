package org.kverbs.coroutines

import org.kverbs.AsyncEvent
import org.kverbs.CompletionQueue
import org.kverbs.MemorySlice
import org.kverbs.ProtectionDomain
import org.kverbs.QueuePair
import org.kverbs.RdmaSystemException
import org.kverbs.SharedReceiveQueue
import org.kverbs.WorkCompletion
import org.kverbs.attributes.AccessFlag
import org.kverbs.attributes.AsyncEventType
import org.kverbs.dsl.get
import java.util.Collections
import java.util.WeakHashMap

/**
 * Receives that the channels of a domain share. A message takes any of the slots, is copied out of it by the polling
 * thread, and the slot is posted again. A message that finds none waits at its sender's device, which tries again
 * (receiver not ready): so there may be fewer slots than messages that the peers have credits for. Any thread.
 *
 * A peer whose device begins a message and does not end it holds a slot as long as its connection lasts, and peers that
 * do so could hold all. A connection has one message under way at a time. So where there are about as many connections
 * as slots, the queue's limit tells whether few were free, and then each connection gets a slot.
 *
 * @param usual how many slots there may be at first
 * @param most how many slots there may be where peers hold them
 * @param slotSize bytes of each
 */
internal class SharedReceives(
    dispatcher: CompletionDispatcher,
    private val pd: ProtectionDomain,
    val queue: SharedReceiveQueue,
    private val usual: Int,
    most: Int,
    private val slotSize: Int,
) : RequestSide(dispatcher, dispatcher.reserve(most), most) {
    private val receptions = NumberMap<ChannelReception>()
    private val slots = arrayOfNulls<MemorySlice>(most)
    private var slotCount = 0

    /** How many slots the channels that are there want. */
    private var wanted = 0

    /** How many channels are there. */
    private var joined = 0

    /** Whether the queue notes that few slots are free. */
    private var isWatched = false

    /** When [relieve] has looked, which takes a system call. */
    private var lookedAt = System.nanoTime() - PAUSE_NANOS

    /** Where its completions come. */
    val cq: CompletionQueue get() = polled.cq

    /** How many slots are registered. */
    val registered: Int get() = synchronized(slots) { slotCount }

    init {
        begin()
        queues += queue
        queue.whenClosed { end(ChannelClosedException("${queue.describe()} of the message channels was closed")) }
    }

    /** Takes a queue pair's messages to [reception], and has [share] slots more if there may be so many. */
    fun join(
        queuePair: QueuePair,
        share: Int,
        reception: ChannelReception,
    ) {
        val number = queuePair.number()
        receptions[number] = reception
        synchronized(slots) {
            wanted += share
            joined++
        }
        queuePair.whenClosed {
            receptions.remove(number, reception)
            synchronized(slots) {
                wanted -= share
                joined--
            }
        }
        synchronized(slots) { growTo(minOf(wanted, usual)) }
        relieve()
    }

    /** Adds slots if peers may hold nearly all. Channels call it again and again, and it looks now and then. */
    fun relieve() {
        synchronized(slots) {
            if (slotCount < usual || slotCount == capacity || joined + FEW <= slotCount) return
            val now = System.nanoTime()
            if (now - lookedAt < PAUSE_NANOS) return
            lookedAt = now
            try {
                if (isWatched) {
                    if (queue.query().limit() > 0) return // not reached
                    growTo(minOf(joined + SPARE, capacity))
                }
                queue.limit(FEW)
                isWatched = true
            } catch (_: RdmaSystemException) {
                // the device has no limits
            }
        }
    }

    private fun growTo(count: Int) {
        while (slotCount < count) grow()
    }

    private fun grow() {
        val more = minOf(AT_ONCE, capacity - slotCount)
        val region = pd.memoryRegion(more.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
        repeat(more) {
            slots[slotCount] = region[it.toLong() * slotSize, slotSize.toLong()]
            post(slotCount++)
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        val reception = receptions[completion.queuePairNumber()] ?: return post(request)
        reception.take(completion, checkNotNull(slots[request])) { post(request) }
    }

    private fun post(slot: Int) {
        try {
            queue.postReceive(id(slot), checkNotNull(slots[slot]))
        } catch (e: IllegalStateException) {
            if (queue.isOpen) throw e // else the device was closed
        }
    }

    override fun failWaits(cause: Throwable): Unit = receptions.values().forEach { it.fail(cause) }

    companion object {
        /** The queues of all open devices; a device that nobody closes keeps none here. */
        private val queues: MutableSet<SharedReceiveQueue> =
            Collections.synchronizedSet(
                Collections.newSetFromMap(WeakHashMap()),
            )

        /**
         * Whether the event is news for this class alone, which looks by itself: that few receives are free, and that a
         * queue pair takes none any more.
         */
        fun isOwn(event: AsyncEvent): Boolean =
            when (event.type) {
                AsyncEventType.SRQ_LIMIT_REACHED -> event.source in queues
                AsyncEventType.QP_LAST_WQE_REACHED -> (event.source as? QueuePair)?.srq() in queues
                else -> false
            }

        private const val AT_ONCE = 32
        private const val PAUSE_NANOS = 100_000_000L

        /** So many free slots, or fewer, are few. */
        private const val FEW = 128

        /** Slots beyond one for each connection. */
        private const val SPARE = 256
    }
}
