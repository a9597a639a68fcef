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
 * Shares receives among the channels of a domain. A message takes any slot, the polling thread copies it, and the slot
 * is posted again. If a message finds no slot, its sender's device retries (receiver not ready): therefore there can be
 * fewer slots than the peers have credits. Any thread can call.
 *
 * A peer whose device begins a message and does not end it holds a slot while its connection lasts, and many such peers
 * could hold all slots. A connection has one message under way at a time. Therefore, if there are about as many
 * connections as slots, the queue's limit shows whether few slots were free; each connection gets a slot of its own
 * then.
 *
 * @param usual the most slots at first
 * @param most the most slots if peers hold them
 * @param slotSize bytes of a slot
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

    /** Registered slots whose receive the device has refused so far. */
    private val unposted = ArrayDeque<MemorySlice>()

    /** The number of slots that the joined channels ask for. */
    private var wanted = 0

    /** The number of joined channels. */
    private var joined = 0

    /** True if the queue's limit is set, which shows that few slots are free. */
    private var isWatched = false

    /** The time of the last check by [relieve], which needs a system call. */
    private var lookedAt = System.nanoTime() - PAUSE_NANOS

    /** The completion queue of the shared receives. */
    val cq: CompletionQueue get() = polled.cq

    /** Number of registered slots. */
    val registered: Int get() = synchronized(slots) { slotCount }

    init {
        begin()
        queues += queue
        queue.whenClosed { end(ChannelClosedException("${queue.describe()} of the message channels was closed")) }
    }

    /** Gives a queue pair's messages to [reception], and adds [share] slots within the limit. */
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

    /** Adds slots if peers can hold nearly all. Channels call it often; it checks only now and then. */
    fun relieve() {
        synchronized(slots) {
            if (slotCount < usual || slotCount == capacity || joined + FEW <= slotCount) return
            val now = System.nanoTime()
            if (now - lookedAt < PAUSE_NANOS) return
            lookedAt = now
            try {
                if (isWatched) {
                    if (queue.query().limit() > 0) return // the limit was not reached
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
        if (unposted.isEmpty()) {
            val more = minOf(AT_ONCE, capacity - slotCount)
            val region = pd.memoryRegion(more.toLong() * slotSize, AccessFlag.LOCAL_WRITE)
            repeat(more) { unposted += region[it.toLong() * slotSize, slotSize.toLong()] }
        }
        while (unposted.isNotEmpty()) {
            val slot = slotCount++
            val memory = unposted.removeFirst().also { slots[slot] = it }
            try {
                post(slot)
            } catch (e: RuntimeException) {
                // The device has refused it. Behind an Error it perhaps has it, and no other receive gets the memory.
                unposted.addFirst(memory)
                slotCount--
                throw e
            }
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        val reception = receptions[completion.queuePairNumber()]
        if (reception == null) {
            waking { post(request) } // a refusal costs the slot, and is no channel's failure
            return
        }
        reception.take(completion, checkNotNull(slots[request])) { post(request) }
    }

    private fun post(slot: Int) {
        try {
            VectorRegisters.clearUpperHalves()
            queue.postReceive(id(slot), checkNotNull(slots[slot]))
        } catch (e: IllegalStateException) {
            if (queue.isOpen) throw e // otherwise the device was closed
        }
    }

    override fun failWaits(cause: Throwable) {
        val all = receptions.values().toList()
        closeAll(*Array(all.size) { AutoCloseable { all[it].fail(cause) } })
    }

    companion object {
        /** The shared queues of all open devices; weak references, so that it keeps no device alive. */
        private val queues: MutableSet<SharedReceiveQueue> =
            Collections.synchronizedSet(
                Collections.newSetFromMap(WeakHashMap()),
            )

        /**
         * True for an event that concerns only this class, which does not need it: few receives are free, or a queue
         * pair takes no more receives.
         */
        fun isOwn(event: AsyncEvent): Boolean =
            when (event.type) {
                AsyncEventType.SRQ_LIMIT_REACHED -> event.source in queues
                AsyncEventType.QP_LAST_WQE_REACHED -> (event.source as? QueuePair)?.srq() in queues
                else -> false
            }

        private const val AT_ONCE = 32
        private const val PAUSE_NANOS = 100_000_000L

        /** The number of free slots that counts as few. */
        private const val FEW = 128

        /** Slots in addition to one for each connection. */
        private const val SPARE = 256
    }
}
