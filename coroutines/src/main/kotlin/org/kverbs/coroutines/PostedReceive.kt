package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.MemorySlice
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.atomic.AtomicReference

/**
 * A receive whose caller awaits the message later, with the memory for the message. [pin] is the buffer that contains
 * the memory, already pinned.
 */
internal class PostedReceive(
    val memory: MemorySlice,
    private val pin: RegisteredBuffer?,
) {
    val message: CompletableDeferred<Received> = CompletableDeferred()

    /** The owner of the memory while a request of the device uses it. */
    val keeper: Any? get() = pin

    /** The message that completes the receive, until it is known whether the receive ended with it. */
    private val given = AtomicReference<Received>()

    /** The number of those that use the memory: the receive, and a copy under way. */
    private val users = AtomicInteger(1)

    /**
     * Completes the receive with a message. It can end as cancelled all the same, even if `complete` returns true: a
     * cancellation that comes while it runs wins, and so does one that comes while a child of the deferred runs.
     * Therefore the end of the receive decides with [takeGiven] what becomes of the message.
     *
     * @return false if the receive had ended before; then the caller calls [takeGiven], too
     */
    fun give(received: Received): Boolean {
        given.set(received)
        return message.wake(received)
    }

    /** Returns the message that the receive was given, to one caller; then null. */
    fun takeGiven(): Received? = given.getAndSet(null)

    /** Keeps the memory for a copy, until [release]. False if the receive has ended and the memory may be reused. */
    fun tryUse(): Boolean {
        while (true) {
            val now = users.get()
            if (now == 0) return false
            if (users.compareAndSet(now, now + 1)) return true
        }
    }

    /** Ends a use of the memory. The last one unpins the buffer. */
    fun release() {
        if (users.decrementAndGet() == 0) pin?.unpin()
    }
}
