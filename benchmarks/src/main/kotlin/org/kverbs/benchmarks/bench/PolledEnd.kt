package org.kverbs.benchmarks.bench

/** One end of a [PolledExchange], for one thread. */
internal abstract class PolledEnd {
    private val turns = Turns()

    /** The completions that were taken and that no [await] has had. */
    protected var sent = 0
    protected var received = 0

    /** Posts [RECEIVES] receives; once, when both ends are connected. */
    abstract fun fillReceives()

    /** Posts a send. */
    abstract fun post(bytes: Int)

    /**
     * Polls for sends, for receives, or for both, counts what it takes in [sent] and [received], and posts a receive
     * for each that it takes. An end with one queue for both may take more than it was asked for. Returns how many.
     */
    protected abstract fun take(
        forSends: Boolean,
        forReceives: Boolean,
    ): Int

    /** Waits for so many completions, and keeps those that are more for the next call. */
    fun await(
        sends: Int,
        receives: Int,
    ) {
        turns.reset()
        while (sent < sends || received < receives) {
            if (take(sent < sends, received < receives) > 0) turns.reset() else turns.pause()
        }
        sent -= sends
        received -= receives
    }

    companion object {
        /** Sends under way at once. */
        const val SENDS = 16

        /** Enough for a receiver that gets no processor for a while. */
        const val RECEIVES = 256

        /** Completions taken at once. */
        const val BATCH = 16
    }
}
