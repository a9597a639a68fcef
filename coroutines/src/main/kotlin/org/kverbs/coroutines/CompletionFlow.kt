package org.kverbs.coroutines

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletion
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/** Takes a queue's completions while a collector collects, at most [ROOM] ahead of the collector. */
internal class CompletionFlow(
    cq: CompletionQueue,
    private val dispatcher: CompletionDispatcher,
) : Pollable(cq) {
    private val loop = dispatcher.loop
    private val taken = ConcurrentLinkedQueue<WorkCompletion>()
    private val free = AtomicInteger(ROOM)
    private val news = Channel<Unit>(Channel.CONFLATED)
    private val isCollected = AtomicBoolean()

    /** True if the last poll took nothing because the collector is [ROOM] completions behind. */
    @Volatile
    private var isFull = false

    val flow: Flow<WorkCompletion> =
        flow {
            check(
                isCollected.compareAndSet(false, true),
            ) {
                "the completions of ${cq.describe()} are being collected already; share the flow " +
                    "with shareIn for several collectors"
            }
            isArmed = false // an event that came while no collector ran has no meaning
            // The polling thread can be asleep and miss the close.
            val forgetAtQueue = cq.whenClosed { fail(IllegalStateException("${cq.describe()} was closed")) }
            try {
                loop.add(this@CompletionFlow)
                check(dispatcher.channel.isOpen) {
                    "${dispatcher.channel.describe()} is closed, and with it the dispatcher of completions"
                }
                while (true) {
                    // Taken just before it is emitted, so that a cancelled collector leaves the rest to the next one.
                    val next = taken.poll()
                    if (next == null) {
                        news.receive()
                    } else {
                        free.incrementAndGet()
                        if (isFull) loop.wake()
                        emit(next)
                    }
                }
            } finally {
                loop.remove(this@CompletionFlow)
                forgetAtQueue.run()
                isCollected.set(false)
            }
        }

    override fun poll(): Int {
        val room = free.get()
        isFull = room <= 0
        if (room <= 0) return 0
        val count = cq.poll({ taken.add(it.copy()) }, room)
        if (count > 0) {
            free.addAndGet(-count)
            news.trySend(Unit)
        }
        return count
    }

    override fun fail(cause: Throwable) {
        news.close(cause)
    }

    private companion object {
        const val ROOM = 256
    }
}

/**
 * Returns the completions of the program's own completion queue, for requests posted with plain verbs. The completions
 * of the suspend functions never appear here. Each element is a copy, a new object.
 *
 * The dispatcher takes completions while a collector collects, one collector at a time, and at most 256 ahead of the
 * collector. Further completions stay in the queue, which must be long enough. A collector that ends leaves the rest to
 * the next collector of the same flow.
 *
 * When the queue, the dispatcher or the device is closed, the flow emits the completions that were taken, and fails
 * with an IllegalStateException.
 *
 * @param cq created with the dispatcher's [channel][CompletionDispatcher.channel], and polled by no other code
 * @throws IllegalArgumentException if the queue was created with another channel, or with none
 */
public fun CompletionDispatcher.completions(cq: CompletionQueue): Flow<WorkCompletion> {
    require(cq.channel() === channel) {
        "${cq.describe()} doesn't announce its completions to this dispatcher; make it with dispatcher.channel"
    }
    return CompletionFlow(cq, this).flow
}
