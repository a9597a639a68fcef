package org.kverbs.coroutines

/**
 * Counts whether the looks of a send queue's callers find their completions, which those of a slow network do not. Used
 * by the polling thread only.
 */
internal class Looks {
    /**
     * Looks in a row that did not find their completion, up to [FEW]; from there on it also counts the requests until
     * the next look.
     */
    private var misses = 0

    /** True unless requests of this queue take longer than a look; then true once in a while. */
    fun isWorthOne(): Boolean {
        if (misses < FEW) return true
        if (++misses < FEW + SELDOM) return false
        misses = FEW
        return true
    }

    fun note(found: Boolean) {
        misses = if (found) 0 else misses + 1
    }

    private companion object {
        /** After so many looks without success a queue is looked at once in [SELDOM] requests. */
        const val FEW = 16
        const val SELDOM = 64
    }
}
