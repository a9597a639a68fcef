package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.ensureActive
import org.kverbs.MemoryRegion
import org.kverbs.MemorySlice
import org.kverbs.QueuePair
import org.kverbs.SendRequests
import org.kverbs.WorkCompletion
import org.kverbs.WorkRequestException
import org.kverbs.attributes.AccessFlag
import org.kverbs.coroutines.SendSlots.Companion.SOON
import org.kverbs.dsl.Destination
import org.kverbs.internal.WorkRequestArena
import java.lang.foreign.ValueLayout.JAVA_LONG
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn

/**
 * Manages the send queue of an [AsyncQueuePair], or a share of it: posting, and the callers that wait for a request or
 * for a free entry.
 *
 * @param isShared true if other classes take [credits], too: then the polling thread keeps none for its coroutines
 * @param onRoom called by the polling thread when requests have completed and their entries are free again
 */
internal class SendSide(
    private val queuePair: QueuePair,
    dispatcher: CompletionDispatcher,
    polled: PolledQueue,
    capacity: Int,
    val failures: Failures,
    private val isShared: Boolean = false,
    private val onRoom: () -> Unit = {},
) : RequestSide(dispatcher, polled, capacity) {
    private val slots = SendSlots(capacity, failures)
    private val late = LateSends(slots, PollingWaits(dispatcher, capacity), ::end)
    private val looks = Looks()

    /** The free entries of the queue. */
    val credits = Credits(capacity, "room in the send queue", queuePair)

    /** The free entries that the polling thread keeps until the end of its round. */
    private val kept = KeptCredits(credits)

    val stats: AsyncQueuePairStats
        get() = AsyncQueuePairStats(capacity, pending, credits.waitingCount)

    // The polling thread can take and keep a credit between the two reads.
    private val pending: Int get() = maxOf(0, capacity - credits.available - kept.count)

    /** Number of requests posted so far, or a moment ago; it wraps around. */
    val posted: Int get() = slots.next()

    // Both are used under the lock.
    private val single = SendRequests()
    private val lists = ArrayDeque<SendRequests>()

    /**
     * 8 bytes for each slot, for the results of atomics and for other single numbers. Registered when it is first
     * needed, under the lock.
     */
    @Volatile
    private var results: MemoryRegion? = null

    init {
        begin()
    }

    /**
     * Posts one request and suspends until it has completed.
     *
     * @param local the bytes of this side; null for none
     * @param address the peer's address, with [rkey] and [immediate] if the operation has them
     * @param to the destination of a datagram
     * @param srq the number of the peer's shared receive queue over XRC
     */
    suspend fun await(
        operation: SendOperation,
        local: MemorySlice?,
        pin: RegisteredBuffer?,
        address: Long,
        rkey: Int,
        immediate: Int,
        to: Destination?,
        srq: Int = SendOperation.NO_QUEUE,
    ) {
        // Only tail calls: a suspend function that goes on after a call allocates an object each time.
        val isPolling = dispatcher.isPolling
        if ((isPolling && kept.tryTake()) || credits.tryAcquire(1)) {
            if (!isPolling) return startElsewhere(operation, local, pin, address, rkey, immediate, to, srq)
            val glance = if (looks.isWorthOne()) dispatcher.loop.glance() else null
            return start(glance, operation, local, pin, address, rkey, immediate, to, srq)
        }
        return await(
            operation.code,
            pin,
        ) { requests, id -> operation.write(requests, id, local, address, rkey, immediate, to, srq) }
    }

    // Generic instead of Unit: for an inlined block of type Unit the compiler does not recognise the tail call.
    private suspend fun <T> start(
        glance: Glance?,
        operation: SendOperation,
        local: MemorySlice?,
        pin: RegisteredBuffer?,
        address: Long,
        rkey: Int,
        immediate: Int,
        to: Destination?,
        srq: Int,
    ): T {
        val standIn = glance ?: SOON
        val request = post(standIn, operation, local, pin, address, rkey, immediate, to, srq)
        if (glance == null) return late.await(request, standIn)
        dispatcher.loop.look(polled)
        looks.note(glance.isDone)
        return if (glance.isDone) finish(glance) else late.await(request, glance)
    }

    // A function of its own, so that what a call runs that finds its completion stays small enough for the JIT to
    // inline.
    private suspend fun <T> startElsewhere(
        operation: SendOperation,
        local: MemorySlice?,
        pin: RegisteredBuffer?,
        address: Long,
        rkey: Int,
        immediate: Int,
        to: Destination?,
        srq: Int,
    ): T = suspendToPost { post(it, operation, local, pin, address, rkey, immediate, to, srq) }

    /** Looks for the completion of a request that [waiter] has just posted, if this is the polling thread. */
    private fun look(waiter: CancellableContinuation<*>) {
        if (!dispatcher.isPolling || dispatcher.loop.glance() == null || !looks.isWorthOne()) return
        dispatcher.loop.look(polled)
        looks.note(waiter.isCompleted)
    }

    /** Returns from a request that has completed before its caller suspended. Throws if the caller is cancelled. */
    private suspend fun <T> finish(glance: Glance): T =
        suspendCoroutineUninterceptedOrReturn {
            it.context.ensureActive()
            glance.failure?.let { failure -> throw failure.calledBy(it) }
            Unit
        }

    private fun post(
        waiter: Any,
        operation: SendOperation,
        local: MemorySlice?,
        pin: RegisteredBuffer?,
        address: Long,
        rkey: Int,
        immediate: Int,
        to: Destination?,
        srq: Int,
    ): Int =
        post(
            waiter,
            operation.code,
            pin,
        ) { requests, id -> operation.write(requests, id, local, address, rkey, immediate, to, srq) }

    /** Posts one request that [write] writes with the given id, and suspends until it has completed. */
    suspend fun await(
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ): Unit = if (credits.tryAcquire(1)) awaitPosted(opcode, pin, write) else awaitLater(opcode, pin, write)

    private suspend fun awaitLater(
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ) {
        acquire(1)
        awaitPosted(opcode, pin, write)
    }

    private suspend fun acquire(count: Int) {
        if (dispatcher.isPolling) kept.giveBack()
        credits.acquire(count)
    }

    /** Does the same for a caller that holds a credit, which is given back if the device refuses the request. */
    suspend fun awaitPosted(
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ) {
        if (!dispatcher.isPolling) return postElsewhere(opcode, pin, write)
        val glance = if (looks.isWorthOne()) dispatcher.loop.glance() else null
        val standIn = glance ?: SOON
        val request = post(standIn, opcode, pin, write)
        if (glance == null) return late.await(request, standIn)
        dispatcher.loop.look(polled)
        looks.note(glance.isDone)
        return if (glance.isDone) finish(glance) else late.await(request, glance)
    }

    private suspend fun postElsewhere(
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ): Unit = suspendToPost { post(it, opcode, pin, write) }

    /** Posts an atomic, or a read of 8 bytes, suspends until it has completed, and returns its result. */
    suspend fun awaitResult(
        opcode: Int,
        write: (SendRequests, Long) -> Unit,
    ): Long {
        val memory = results ?: registerResults()
        acquire(1)
        return suspendToPost { continuation ->
            post(AtomicWaiter(continuation, memory.memory()), opcode, null) { requests, id ->
                write(requests, id)
                requests.into(memory.slice(resultAt(id), 8))
            }
            look(continuation)
        }
    }

    /**
     * Posts a request whose 8 bytes are a number in this machine's byte order, and suspends until it has completed.
     */
    suspend fun awaitNumber(
        opcode: Int,
        number: Long,
        write: (SendRequests, Long) -> Unit,
    ) {
        val memory = results ?: registerResults()
        await(opcode, null) { requests, id ->
            memory.memory().set(JAVA_LONG, resultAt(id), number)
            write(requests, id)
            requests.from(memory.slice(resultAt(id), 8))
        }
    }

    private fun registerResults(): MemoryRegion =
        locked {
            checkNotEnded()
            results ?: newResults().also { results = it }
        }

    private fun newResults() = queuePair.protectionDomain().memoryRegion(slots.size * 8L, AccessFlag.LOCAL_WRITE)

    private fun resultAt(id: Long) = Integer.remainderUnsigned(id.toInt(), slots.size) * 8L

    /**
     * Posts one request without a waiter. The caller holds a credit, which is given back if the device refuses the
     * request.
     */
    fun postForNobody(
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ) {
        post(SendSlots.NOBODY, opcode, pin, write)
    }

    /**
     * Posts one request, and returns its number. The caller holds a credit, which is given back if the device refuses
     * the request.
     */
    private inline fun post(
        waiter: Any,
        opcode: Int,
        pin: RegisteredBuffer?,
        write: (SendRequests, Long) -> Unit,
    ): Int {
        var pinned = false
        var posted = false
        try {
            pin?.pin()
            pinned = true
            return locked {
                checkNotEnded()
                val request = slots.next()
                single.clear()
                write(single, id(request))
                single.signaled()
                if (waiter is Glance) waiter.begin(slots, request)
                slots.put(0, waiter, opcode, pin)
                VectorRegisters.clearUpperHalves()
                slots.advance(1)
                posted = true
                try {
                    queuePair.post(single)
                } catch (e: RuntimeException) {
                    posted = false
                    slots.takeBack(1)
                    throw e
                }
                request
            }
        } catch (e: Throwable) {
            throw if (posted) breakUp(e) else refused(e, if (pinned) pin else null)
        }
    }

    /** Gives back what a request took that was not posted. */
    private fun refused(
        cause: Throwable,
        pinned: RegisteredBuffer?,
    ): Throwable {
        try {
            pinned?.unpin()
        } finally {
            credits.release(1)
        }
        return cause
    }

    /**
     * Ends the queue after a post that threw an error, such as a stack overflow: nobody knows whether the device has
     * the request, whose entry and buffers another request must not get then. The device completes what it has.
     */
    private fun breakUp(cause: Throwable): Throwable {
        queuePair.breakUp()
        stop(cause)
        return cause
    }

    /**
     * Posts the requests that [write] writes in one call, and suspends until all have completed. Only the last request
     * creates a completion. Pooled buffers with slices in the requests stay pinned until then.
     */
    suspend fun awaitAll(write: (SendRequests) -> Unit) {
        val list = locked { lists.removeLastOrNull() } ?: SendRequests()
        try {
            write(list)
            if (list.size() == 0) return
            acquire(list.size())
            suspendToPost<Unit> {
                postAll(list, it)
                look(it)
            }
        } finally {
            list.clear() // it refers to the buffers of its slices
            locked { lists.addLast(list) }
        }
    }

    private fun postAll(
        list: SendRequests,
        waiter: CancellableContinuation<Unit>,
    ) {
        val count = list.size()
        val owners = list.owners()
        val pins = if (owners.isEmpty()) emptyList() else owners.filterIsInstance<RegisteredBuffer>()
        var accepted = 0
        var pinned = 0
        try {
            while (pinned < pins.size) pins[pinned++].also { it.pin() }
            var broken: Error? = null
            locked {
                checkNotEnded()
                WorkRequestArena.DOOR.of(list).renumber(key, slots.next())
                list.signaled()
                val last = count - 1
                for (ahead in 0 until last) {
                    slots.put(ahead, SendSlots.NOBODY, list.completionOpcode(ahead).code(), null)
                }
                slots.put(last, waiter, list.completionOpcode(last).code(), pins)
                VectorRegisters.clearUpperHalves()
                slots.advance(count)
                try {
                    queuePair.post(list)
                    accepted = count
                } catch (e: WorkRequestException) {
                    accepted = e.index()
                    throw e
                } catch (e: Error) {
                    accepted = count
                    broken = e
                } finally {
                    if (accepted < count) {
                        slots.takeBack(count - accepted)
                        if (accepted > 0 && slots.keep(pins)) pinned = 0
                    }
                }
            }
            broken?.let { throw breakUp(it) }
        } finally {
            if (accepted < count) {
                while (pinned > 0) pins[--pinned].unpin()
                credits.release(count - accepted)
            }
        }
    }

    override fun complete(
        request: Int,
        completion: WorkCompletion,
    ) {
        slots.complete(request, completion) { ended ->
            if (isShared) {
                credits.release(ended)
                onRoom()
            } else if (kept.keep(ended)) {
                dispatcher.loop.atEndOfRound(kept)
            }
        }
    }

    override fun failWaits(cause: Throwable) {
        slots.fail(cause)
        credits.fail(cause)
    }

    override fun stopWaits(cause: Throwable) {
        slots.stop(cause)
        credits.fail(cause)
    }

    override fun release() {
        late.close()
        locked { results.also { results = null } }?.close()
    }
}
