package org.kverbs.coroutines.storm

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.ExperimentalCoroutinesApi
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.delay
import java.util.concurrent.atomic.AtomicReference

/** Joins the workers of a client and of a server by one link after the other. */
class StormLane(
    private val workers: Int,
    private val ledger: StormLedger,
    private val nodes: () -> Pair<StormNode, StormNode>,
) {
    private val link = AtomicReference(CompletableDeferred<StormLink>())
    private val broken = Channel<StormLink>(Channel.UNLIMITED)

    /** Number of links so far. */
    var links = 0
        private set

    /** Returns the working link; suspends while there is none. */
    suspend fun link(): StormLink = link.get().await()

    /** The working link, or null. */
    @OptIn(ExperimentalCoroutinesApi::class)
    fun linkOrNull(): StormLink? = link.get().let { if (it.isCompleted) it.getCompleted() else null }

    /** Stops making links. */
    fun finish() {
        broken.close()
    }

    /** Notes that a link no longer works. */
    fun broken(dead: StormLink) {
        val now = link.get()
        if (linkOrNull() === dead && link.compareAndSet(now, CompletableDeferred())) broken.trySend(dead)
    }

    /** Makes links until [finish]; then there is one, which can be broken. */
    suspend fun keep() {
        make()
        for (dead in broken) {
            dead.end()
            make()
        }
    }

    private suspend fun make() {
        while (true) {
            val (client, server) = nodes()
            val mine = client.end(workers)
            try {
                link.get().complete(StormLink(mine, server.end(workers), ledger))
                links++
                return
            } catch (_: IllegalStateException) {
                mine.close() // the server is closed, and another will replace it
                delay(1)
            }
        }
    }
}
