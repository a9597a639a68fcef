package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.suspendCancellableCoroutine
import org.kverbs.MemorySlice
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater
import kotlin.coroutines.cancellation.CancellationException
import kotlin.coroutines.coroutineContext
import kotlin.coroutines.intrinsics.COROUTINE_SUSPENDED
import kotlin.coroutines.intrinsics.startCoroutineUninterceptedOrReturn
import kotlin.coroutines.intrinsics.suspendCoroutineUninterceptedOrReturn

/**
 * A receive whose caller awaits the message later, with the memory for the message. [pin] is the buffer that contains
 * the memory, already pinned.
 *
 * One coroutine awaits it, as a rule, and then it needs no other object. If a caller uses it in another way, a
 * [WholeReceive] takes its place.
 */
internal class PostedReceive(
    val memory: MemorySlice,
    private val pin: RegisteredBuffer?,
    private val slots: ReceiveSlots,
    private val waits: PollingWaits? = null,
) : LateDeferred<Received>(),
    Awaited {
    /** The slot of its request; null if it joined the requests of cancelled receivers. Guarded by the slots' lock. */
    var slot: ReceiveSlot? = null

    /** True if the device perhaps has its request, although its post failed: the slot keeps the pin until then. */
    var isLeft = false

    /**
     * Null while nobody awaits it, a [PollingWait] or a CancellableContinuation that does, a [WholeReceive]; at the end
     * a [Received] or an [Ended].
     */
    @Volatile
    private var state: Any? = null

    /** The number of those that use the memory: the receive, and a copy under way. */
    @Volatile
    private var users = 1

    /** The end without a message. */
    private class Ended(
        val cause: Throwable,
    )

    /** The owner of the memory while a request of the device uses it. */
    val keeper: Any? get() = pin

    override val isCompleted: Boolean
        get() = state.let { it is Received || it is Ended || (it is WholeReceive && it.deferred.isCompleted) }

    override val isActive: Boolean
        get() = state.let { it !is Received && it !is Ended && (it !is WholeReceive || it.deferred.isActive) }

    override val isCancelled: Boolean get() =
        state.let {
            it is Ended || (it is WholeReceive && it.deferred.isCancelled)
        }

    /**
     * Ends the receive with a message. False if it has ended before: then the message is the caller's.
     *
     * @param isArriving true for the polling thread that takes the completion of the message
     */
    fun give(
        received: Received,
        isArriving: Boolean = false,
    ): Boolean {
        while (true) {
            val now = state
            if (now is WholeReceive) return now.give(received)
            if (now is Received || now is Ended) return false
            if (STATE.compareAndSet(this, now, received)) {
                ended(null, received)
                if (now != null) wakeWaiter(now, received, isArriving)
                return true
            }
        }
    }

    /** Ends the receive with an exception of its own made from [cause]; false if it had ended before. */
    fun fail(cause: Throwable): Boolean = end(cause.calledBy(null))

    override fun cancel(cause: CancellationException?) {
        end(cause ?: CancellationException("the receive was cancelled"))
    }

    private fun end(cause: Throwable): Boolean {
        while (true) {
            val now = state
            if (now is Received || now is Ended) return false
            if (now is WholeReceive) return now.end(cause)
            if (STATE.compareAndSet(this, now, Ended(cause))) {
                ended(cause, null)
                if (now != null) failWaiter(now, cause)
                return true
            }
        }
    }

    /**
     * Releases what the receive holds. A receive that ended otherwise than with the [message] that it was given leaves
     * it to the next one.
     */
    private fun ended(
        cause: Throwable?,
        message: Received?,
    ) {
        try {
            if (cause != null) slots.desert(this)
            if (message != null) slots.settle(message, isTaken = cause == null)
        } finally {
            if (slot == null) release()
        }
    }

    override suspend fun await(): Received {
        val now = state
        return if (now is Received) now else awaitEnd()
    }

    // Only tail calls: a suspend function that goes on after a call allocates an object each time.
    private suspend fun awaitEnd(): Received {
        val wait = waits?.of(coroutineContext)
        return if (wait == null) awaitAnywhere() else awaitHere(wait)
    }

    private suspend fun awaitHere(wait: PollingWait): Received =
        suspendCoroutineUninterceptedOrReturn { caller ->
            if (wait.begin(this, caller)) {
                COROUTINE_SUSPENDED
            } else {
                suspend { awaitAnywhere() }.startCoroutineUninterceptedOrReturn(caller)
            }
        }

    private suspend fun awaitAnywhere(): Received {
        if (state != null) return whole().await()
        return suspendCancellableCoroutine { caller ->
            if (tryAwait(caller)) {
                caller.invokeOnCancellation { leave(caller) }
            } else {
                val followed = whole().onEnd { caller }
                caller.invokeOnCancellation { followed.dispose() }
            }
        }
    }

    /** Has a waiter wait for the end. False if the receive has ended, or if somebody else waits. */
    fun tryAwait(waiter: Any): Boolean = STATE.compareAndSet(this, null, waiter)

    override fun leave(wait: PollingWait): Boolean = leave(wait as Any)

    /** Does the same for any waiter. */
    private fun leave(waiter: Any): Boolean {
        while (true) {
            val now = state
            if (now is WholeReceive) return now.leave(waiter)
            if (now !== waiter) return false
            if (STATE.compareAndSet(this, waiter, null)) return true
        }
    }

    override fun whole(): Deferred<Received> {
        while (true) {
            val now = state
            if (now is WholeReceive) return now.deferred
            if (now is Received) return CompletableDeferred(now)
            if (now is Ended) return CompletableDeferred<Received>().apply { completeExceptionally(now.cause) }
            // Before others see it: what the receive holds is released before anybody else hears of its end.
            val whole = WholeReceive(now, ::ended)
            if (STATE.compareAndSet(this, now, whole)) return whole.deferred
        }
    }

    /** Keeps the memory for a copy, until [release]. False if the receive has ended and the memory may be reused. */
    fun tryUse(): Boolean {
        while (true) {
            val now = users
            if (now == 0) return false
            if (USERS.compareAndSet(this, now, now + 1)) return true
        }
    }

    /** Ends a use of the memory. The last one unpins the buffer. */
    fun release() {
        if (USERS.decrementAndGet(this) == 0) pin?.unpin()
    }

    private companion object {
        val STATE: AtomicReferenceFieldUpdater<PostedReceive, Any> =
            AtomicReferenceFieldUpdater.newUpdater(PostedReceive::class.java, Any::class.java, "state")
        val USERS: AtomicIntegerFieldUpdater<PostedReceive> =
            AtomicIntegerFieldUpdater.newUpdater(PostedReceive::class.java, "users")
    }
}
