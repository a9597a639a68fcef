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
 * Limits the number of clients whose connections are being set up; further clients wait. A client of the IP address
 * with the fewest places is next. If a client of the address with the most places is older than [PATIENCE], it loses
 * its place to a waiting client of an address with fewer. Therefore an address that requests many connections and
 * confirms none does not keep other addresses out.
 *
 * @param room returns the number of places that there can be now; 0 if the server is full
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

    /** The clients with a place, oldest first; [waiting] as well. */
    private val taken = LinkedHashSet<Place>()
    private val waiting = LinkedHashSet<Place>()

    /** Number of clients with a place. */
    val count: Int get() = synchronized(this) { taken.size }

    /**
     * Waits for a place, and runs [block] in it.
     *
     * @return false if the server is full and the block did not run
     * @throws CancellationException if the client lost its place to another
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

    /** Frees a place for a client of an address with fewer places. */
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

    /** Returns the address with the most places. */
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

    /** Gives free places to waiting clients. */
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
