package org.kverbs.cli.pingpong

import org.kverbs.coroutines.WaitStrategy

/** The way in which an end waits for its messages. */
enum class Waiting(
    private val text: String,
) {
    /** Coroutines in suspend functions, on a thread that polls for them all the time. */
    SUSPENDED("suspend functions of coroutines, polling all the time"),

    /** Coroutines in suspend functions; a device's thread sleeps until there are completions. */
    EVENTS("suspend functions of coroutines, sleeping until there are completions"),

    /**
     * Coroutines in suspend functions; a device's thread polls while there is traffic, and then sleeps until there is
     * more.
     */
    ADAPTIVE("suspend functions of coroutines, sleeping when nothing comes for a while"),

    /** One thread that posts and polls by itself, all the time. */
    POLLED("plain verbs, polling all the time"),
    ;

    /** The strategy of the dispatcher that polls for the coroutines. */
    internal val strategy: WaitStrategy
        get() =
            when (this) {
                EVENTS -> WaitStrategy.event()
                ADAPTIVE -> WaitStrategy.adaptive()
                SUSPENDED, POLLED -> POLITE
            }

    /** Names the way of waiting for a person. */
    override fun toString(): String = text

    private companion object {
        /** Polls all the time, as [Rally] does. */
        val POLITE =
            WaitStrategy { rounds ->
                if (rounds > Rally.SPINS) Thread.yield()
                WaitStrategy.SPIN
            }
    }
}
