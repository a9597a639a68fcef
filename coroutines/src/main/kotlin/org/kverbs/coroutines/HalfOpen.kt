package org.kverbs.coroutines

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Job
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.job
import kotlinx.coroutines.withTimeoutOrNull
import java.net.InetAddress
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource

/**
 * The clients of a server that come up: a few at a time, the others wait in line. Those of the IP address that has the
 * fewest places go first. A place that is older than [PATIENCE], of the address that has the most, goes to a client of
 * an address that has fewer. So an address that asks for many connections and confirms none does not keep the others
 * out.
 *
 * @param room how many may come up at a time now; none is a server that is full
 */
internal class HalfOpen(
    private val room: () -> Int,
) {
    private class Place(
        val source: InetAddress?,
        val job: Job,
    ) {
        val turn = CompletableDeferred<Boolean>()
        var since = TimeSource.Monotonic.markNow()
    }

    /** Oldest first, as those below. */
    private val taken = LinkedHashSet<Place>()
    private val waiting = LinkedHashSet<Place>()

    /** How many come up now. */
    val count: Int get() = synchronized(this) { taken.size }

    /**
     * Runs [block] in a place.
     *
     * @return false if the server is full, and the block did not run
     * @throws CancellationException if the client had to give its place to another
     */
    suspend fun inPlace(
        source: InetAddress?,
        block: suspend () -> Unit,
    ): Boolean =
        coroutineScope {
            val place = Place(source, coroutineContext.job)
            try {
                enter(place).also { if (it) block() }
            } finally {
                leave(place)
            }
        }

    private suspend fun enter(place: Place): Boolean {
        synchronized(this) {
            val room = room()
            if (room == 0) return false
            if (taken.size < room) return taken.add(place)
            waiting += place
            if (waiting.size > MOST_WAITING) {
                val crowd = crowded(waiting)
                val last = waiting.last { it.source == crowd }
                waiting -= last
                dismiss(last, "$MOST_WAITING wait already")
            }
        }
        while (true) {
            synchronized(this) { push(place) }
            withTimeoutOrNull(PATIENCE) { place.turn.await() }?.let { return it }
        }
    }

    /** Frees a place for a client of an address that has fewer. */
    private fun push(place: Place) {
        val crowd = crowded(taken.ifEmpty { return })
        if (taken.count { it.source == crowd } <= taken.count { it.source == place.source } + 1) return
        val oldest = taken.first { it.source == crowd }
        if (oldest.since.elapsedNow() >= PATIENCE) dismiss(oldest, "others wait, and it has not answered")
    }

    private fun dismiss(
        place: Place,
        why: String,
    ) {
        val what = "a client of ${place.source} was dismissed while its connection came up: $why"
        place.job.cancel(CancellationException(what))
    }

    /** The address of the most places. */
    private fun crowded(places: Collection<Place>): InetAddress? =
        places
            .groupingBy { it.source }
            .eachCount()
            .maxBy { it.value }
            .key

    private fun leave(place: Place): Unit =
        synchronized(this) {
            waiting -= place
            taken -= place
            admit()
        }

    /** Admits clients that wait, as far as there is room. */
    fun admit() {
        synchronized(this) {
            while (waiting.isNotEmpty()) {
                val room = room()
                if (room > 0 && taken.size >= room) return
                val next = next()
                waiting -= next
                if (room > 0) {
                    taken += next
                    next.since = TimeSource.Monotonic.markNow()
                }
                next.turn.wake(room > 0)
            }
        }
    }

    private fun next(): Place {
        val counts = taken.groupingBy { it.source }.eachCount()
        return waiting.minBy { counts[it.source] ?: 0 }
    }

    private companion object {
        val PATIENCE = 1.seconds
        const val MOST_WAITING = 1024
    }
}
