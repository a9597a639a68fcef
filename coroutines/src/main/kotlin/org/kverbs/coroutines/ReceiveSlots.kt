package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.CompletableDeferred
import org.kverbs.MemorySlice
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletionOpcode
import kotlin.coroutines.resumeWithException

/**
 * The receive requests that are under way; a shared receive queue may complete them in any order. A slot is used again only after its
 * completion.
 *
 * A request whose caller was cancelled stays posted, since no device takes one back. The next caller takes it over, oldest first, or
 * the message that came meanwhile: so none is lost, and their order stays.
 *
 * Who waits is a CancellableContinuation, or a CompletableDeferred that somebody will await. Any thread; nobody is resumed under the lock.
 *
 * @param capacity how many can be under way; the caller keeps to it
 */
internal class ReceiveSlots(
    capacity: Int,
    private val failures: Failures,
) {
    /** A message that came when nobody waited, in memory that is still pinned. */
    private class Unclaimed(
        val message: Received,
        val memory: MemorySlice,
        val pin: RegisteredBuffer?,
    )

    private val lock = Any()
    private val slots = Array(capacity, ::ReceiveSlot)
    private val free = ArrayDeque(slots.asList())

    /** Posted, and nobody waits. */
    private val deserted = ArrayDeque<ReceiveSlot>()
    private val unclaimed = ArrayDeque<Unclaimed>()

    /** Nobody comes any more for what is unclaimed. */
    private var hasFailed = false

    /** Whether [takeOver] would find something; a hint. */
    @Volatile
    var hasLeft: Boolean = false
        private set

    /** Takes a slot for a request that is about to be posted on [memory], which [pin] keeps. */
    fun put(
        waiter: Any,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Int {
        val slot =
            synchronized(lock) {
                free.removeFirst().also {
                    it.memory = memory
                    it.pin = pin
                    it.waiter = waiter
                }
            }
        desertWhenCancelled(slot, waiter)
        return slot.index
    }

    /** The request was refused: its slot is free, and the pin the caller's. */
    fun takeBack(index: Int): Unit =
        synchronized(lock) {
            deserted.remove(slots[index])
            free(slots[index])
        }

    /**
     * Lets [waiter] have the oldest message that nobody took, or else the oldest request that nobody waits for.
     *
     * @return false if there is neither
     */
    fun takeOver(
        waiter: Any,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ): Boolean {
        var slot: ReceiveSlot? = null
        val left =
            synchronized(lock) {
                val left = unclaimed.removeFirstOrNull()
                if (left == null) {
                    slot = deserted.removeFirstOrNull() ?: return false
                    slot.target = memory
                    slot.targetPin = pin
                    slot.waiter = waiter
                }
                noteLeft()
                left
            }
        if (left != null) {
            deliver(left.message, waiter, left.memory, left.pin, memory, pin)
        } else {
            desertWhenCancelled(slot!!, waiter)
        }
        return true
    }

    private fun desertWhenCancelled(
        slot: ReceiveSlot,
        waiter: Any,
    ) {
        if (waiter is CompletableDeferred<*>) {
            // However it ends: a request that has completed is nobody's any more, and then this does nothing.
            waiter.invokeOnCompletion { desert(slot, waiter) }
        } else {
            (waiter as CancellableContinuation<*>).invokeOnCancellation { desert(slot, waiter) }
        }
    }

    private fun desert(
        slot: ReceiveSlot,
        waiter: Any,
    ) {
        val pinned =
            synchronized(lock) {
                if (slot.waiter !== waiter) return
                slot.waiter = null
                slot.target = null
                deserted.addLast(slot)
                noteLeft()
                slot.targetPin.also { slot.targetPin = null }
            }
        pinned?.unpin()
    }

    private fun noteLeft() {
        hasLeft = deserted.isNotEmpty() || unclaimed.isNotEmpty()
    }

    private fun free(slot: ReceiveSlot) {
        slot.clear()
        free.addLast(slot)
        noteLeft()
    }

    /**
     * A request has ended.
     *
     * @param freed told so before who waits runs again, who may do so at once and post the next; not for a request that isn't under way
     */
    fun complete(
        index: Int,
        completion: WorkCompletion,
        freed: () -> Unit,
    ) {
        val slot = slots.getOrNull(index) ?: return
        val failure = if (completion.isSuccess) null else failures.of(completion, WorkCompletionOpcode.RECV.code())
        val message = if (failure == null) Received(completion) else null
        val memory: MemorySlice
        val pin: RegisteredBuffer?
        val target: MemorySlice?
        val targetPin: RegisteredBuffer?
        val waiter: Any?
        synchronized(lock) {
            memory = slot.memory ?: return
            pin = slot.pin
            target = slot.target
            targetPin = slot.targetPin
            waiter = slot.waiter
            if (waiter == null) {
                deserted.remove(slot)
                if (message != null) unclaimed.addLast(Unclaimed(message, memory, pin))
            }
            free(slot)
        }
        freed()
        when {
            message == null -> {
                pin?.unpin()
                targetPin?.unpin()
                waiter?.let { fail(it, failure!!) }
            }

            waiter == null -> {}

            target == null -> {
                hand(message, waiter, memory, pin)
            }

            else -> {
                deliver(message, waiter, memory, pin, target, targetPin)
            }
        }
    }

    /** Brings a message to the memory that its taker wants it in. */
    private fun deliver(
        message: Received,
        waiter: Any,
        from: MemorySlice,
        fromPin: RegisteredBuffer?,
        to: MemorySlice,
        toPin: RegisteredBuffer?,
    ) {
        val failure = bring(message, from, to)
        fromPin?.unpin()
        if (failure == null) {
            hand(message, waiter, to, toPin)
        } else {
            toPin?.unpin()
            fail(waiter, failure)
        }
    }

    /** Copies a message. Returns why it can't be; then it is lost. */
    private fun bring(
        message: Received,
        from: MemorySlice,
        to: MemorySlice,
    ): RuntimeException? {
        if (!message.isInBuffer || from.address() == to.address()) return null
        if (message.length > to.length()) {
            return IllegalArgumentException(
                "a message of ${message.length} bytes came to the buffer of an earlier, cancelled receive, and doesn't fit into" +
                    " the ${to.length()} bytes of this one; give all receives of a queue buffers of one size",
            )
        }
        return try {
            to.memory().copyFrom(from.memory().asSlice(0, message.length))
            null
        } catch (e: IllegalStateException) {
            // Perhaps with its device, by another thread.
            IllegalStateException("the memory of a receive was closed when its message came", e)
        }
    }

    /** Hands a message over. A caller that is cancelled before it sees it leaves it to the next. */
    @Suppress("UNCHECKED_CAST")
    private fun hand(
        message: Received,
        waiter: Any,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ) {
        if (waiter is CompletableDeferred<*>) {
            if ((waiter as CompletableDeferred<Received>).complete(message)) pin?.unpin() else putBack(message, memory, pin)
        } else {
            (waiter as CancellableContinuation<Received>).resume(message) { _, _, _ ->
                if (pin == null || isPinnedAgain(pin)) putBack(message, memory, pin)
            }
            pin?.unpin()
        }
    }

    /** False if its owner has closed it, and with it the message. */
    private fun isPinnedAgain(pin: RegisteredBuffer): Boolean =
        try {
            pin.pin()
            true
        } catch (_: IllegalStateException) {
            false
        }

    private fun putBack(
        message: Received,
        memory: MemorySlice,
        pin: RegisteredBuffer?,
    ) {
        synchronized(lock) {
            if (!hasFailed) {
                unclaimed.addFirst(Unclaimed(message, memory, pin))
                noteLeft()
                return
            }
        }
        pin?.unpin()
    }

    private fun fail(
        waiter: Any,
        cause: Throwable,
    ) {
        if (waiter is CompletableDeferred<*>) {
            waiter.completeExceptionally(cause)
        } else {
            (waiter as CancellableContinuation<*>).resumeWithException(cause)
        }
    }

    /** Ends all waits with [cause]; no completion comes any more. */
    fun fail(cause: Throwable) {
        val waiters = ArrayList<Any>()
        val pinned = ArrayList<RegisteredBuffer>()
        synchronized(lock) {
            hasFailed = true
            unclaimed.forEach { it.pin?.let(pinned::add) }
            unclaimed.clear()
            deserted.clear()
            noteLeft()
            for (slot in slots) {
                if (slot.memory == null) continue
                slot.waiter?.let(waiters::add)
                slot.pin?.let(pinned::add)
                slot.targetPin?.let(pinned::add)
                free(slot)
            }
        }
        pinned.forEach(RegisteredBuffer::unpin)
        waiters.forEach { fail(it, cause) }
    }
}
