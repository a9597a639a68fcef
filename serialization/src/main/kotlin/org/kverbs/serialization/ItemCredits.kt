package org.kverbs.serialization

import kotlinx.coroutines.channels.Channel
import java.util.concurrent.atomic.AtomicLong

/** Counts the items of a stream that the peer takes. One coroutine takes credits, another adds them. */
internal class ItemCredits(
    initial: Int,
) {
    private val count = AtomicLong(initial.toLong())
    private val more = Channel<Unit>(Channel.CONFLATED)

    fun add(further: Int) {
        // A limit, against overflow by a peer that adds for ever.
        count.updateAndGet { minOf(it + further, Int.MAX_VALUE.toLong()) }
        more.trySend(Unit)
    }

    /** Takes one credit; suspends while there is none. */
    suspend fun take() {
        while (count.get() == 0L) more.receive()
        count.decrementAndGet()
    }
}
