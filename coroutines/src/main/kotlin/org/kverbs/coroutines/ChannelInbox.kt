package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.suspendCancellableCoroutine
import kotlin.coroutines.resume

/** Messages that came, in order. The polling thread adds; one reader at a time looks at the first and removes it when it has taken it. */
internal class ChannelInbox {
    private val lock = Any()
    private val arrivals = ArrayDeque<ChannelArrival>()
    private var reader: CancellableContinuation<Unit>? = null
    private var ended = false
    private var cause: Throwable? = null

    /** Whether there is nothing to wait for: a message, or the end. */
    private val isReady get() = ended || arrivals.isNotEmpty()

    fun add(arrival: ChannelArrival): Unit =
        wake {
            if (ended) throw ChannelProtocolException("the peer sent a message after its end")
            arrivals.addLast(arrival)
        }

    /** No message comes any more: [cause] says why, or null if the peer said so. Those that came stay. The first end counts. */
    fun end(cause: Throwable?): Unit =
        wake {
            if (!ended) this.cause = cause
            ended = true
        }

    /** Forgets the messages too. */
    fun discard(cause: Throwable): Unit =
        wake {
            arrivals.clear()
            this.cause = cause
            ended = true
        }

    private inline fun wake(change: () -> Unit) {
        val woken =
            synchronized(lock) {
                change()
                reader.also { reader = null }
            }
        woken?.resume(Unit)
    }

    /** Suspends until there is a message, and leaves it where it is. Null at the end; throws the end's cause if it has one. */
    suspend fun awaitFirst(): ChannelArrival? {
        while (true) {
            synchronized(lock) {
                arrivals.firstOrNull()?.let { return it }
                if (ended) {
                    cause?.let { throw it }
                    return null
                }
            }
            suspendCancellableCoroutine { continuation ->
                val ready =
                    synchronized(lock) {
                        if (!isReady) reader = continuation
                        isReady
                    }
                if (ready) continuation.resume(Unit)
            }
        }
    }

    /** The first message has been taken. */
    fun removeFirst() {
        synchronized(lock) { arrivals.removeFirstOrNull() }
    }
}
