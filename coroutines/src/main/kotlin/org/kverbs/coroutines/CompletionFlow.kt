package org.kverbs.coroutines

import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletion
import org.kverbs.WorkCompletions
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.atomic.AtomicInteger

/** Takes a queue's completions while they are collected, and no more than [ROOM] ahead of the collector. */
internal class CompletionFlow(
    cq: CompletionQueue,
    private val dispatcher: CompletionDispatcher,
) : Pollable(cq) {
    private val loop = dispatcher.loop
    private val taken = ConcurrentLinkedQueue<WorkCompletion>()
    private val free = AtomicInteger(ROOM)
    private val news = Channel<Unit>(Channel.CONFLATED)
    private val isCollected = AtomicBoolean()

    /** Whether the last look left completions in the queue for want of room. */
    @Volatile
    private var isFull = false

    val flow: Flow<WorkCompletion> =
        flow {
            check(
                isCollected.compareAndSet(false, true),
            ) { "the completions of ${cq.describe()} are being collected already; shareIn serves several" }
            isArmed = false // an event that came while nobody collected was for nobody
            loop.add(this@CompletionFlow)
            try {
                check(dispatcher.channel.isOpen) {
                    "${dispatcher.channel.describe()} is closed, and with it the dispatcher of completions"
                }
                while (true) {
                    // Taken out just before it is given: a collector that is cancelled leaves the rest to the next.
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
                isCollected.set(false)
            }
        }

    override fun poll(batch: WorkCompletions): Int {
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
 * The completions of a queue of the user's own, on which requests are posted by plain verbs; those of the suspend
 * functions never come here. For who wants to see them all in one place: each is a copy, an object.
 *
 * Completions are taken while somebody collects, one collector at a time, and at most 256 before the collector has
 * taken them: then they stay in the queue, which must be long enough. A collector that ends leaves what it has not seen
 * to the next one of the same flow.
 *
 * The flow ends with an IllegalStateException when the queue, the dispatcher or the device is closed, after what had
 * been taken.
 *
 * @param cq made with the dispatcher's [channel][CompletionDispatcher.channel], and polled by nobody else
 * @throws IllegalArgumentException if it was made with another channel, or none
 */
public fun CompletionDispatcher.completions(cq: CompletionQueue): Flow<WorkCompletion> {
    require(cq.channel() === channel) {
        "${cq.describe()} doesn't announce its completions to this dispatcher; make it with dispatcher.channel"
    }
    val completions = CompletionFlow(cq, this)
    // The polling thread may sleep, and then doesn't see it.
    cq.whenClosed { completions.fail(IllegalStateException("${cq.describe()} was closed")) }
    return completions.flow
}
