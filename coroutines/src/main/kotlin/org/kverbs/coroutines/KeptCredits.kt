package org.kverbs.coroutines

import java.util.concurrent.atomic.AtomicInteger

/**
 * Keeps credits that the polling thread got back, for the next requests of its own coroutines, until the end of the
 * round: so many requests cost one change of the shared count. The polling thread keeps none while other callers wait.
 * Only the polling thread calls the functions.
 */
internal class KeptCredits(
    private val credits: Credits,
) {
    private val kept = AtomicInteger()

    /** True from the first credit that is kept in a round until [endRound]. */
    private var isNoted = false

    /** Number of kept credits. Any thread can read it. */
    val count: Int get() = kept.acquire

    /** Takes one credit, if one is kept and no other caller waits. */
    fun tryTake(): Boolean {
        val now = kept.plain
        if (now == 0) return false
        if (credits.waitingCount != 0) {
            giveBack()
            return false
        }
        kept.setRelease(now - 1)
        return true
    }

    /**
     * Keeps [count] credits, or releases them if other callers wait.
     *
     * @return true for the first credits of a round: the caller sees to it that [endRound] is called at its end
     */
    fun keep(count: Int): Boolean {
        kept.setRelease(kept.plain + count)
        if (credits.waitingCount != 0) giveBack()
        if (isNoted) return false
        isNoted = true
        return true
    }

    /** Releases all kept credits. */
    fun giveBack() {
        val now = kept.plain
        if (now == 0) return
        kept.setRelease(0)
        credits.release(now)
    }

    /** Releases all kept credits, as the round ends. */
    fun endRound() {
        isNoted = false
        giveBack()
    }
}
