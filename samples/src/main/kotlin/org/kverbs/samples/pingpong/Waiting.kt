package org.kverbs.samples.pingpong

/** How an end waits for its messages. */
enum class Waiting(
    private val text: String,
) {
    /** Coroutines in suspend functions, on the one thread that polls for them all the time. */
    SUSPENDED("suspend functions of coroutines, polling all the time"),

    /** Coroutines in suspend functions; a device's thread sleeps until there are completions. */
    EVENTS("suspend functions of coroutines, sleeping until there are completions"),

    /** Coroutines in suspend functions; a device's thread polls while there is traffic, and then sleeps until there is more. */
    ADAPTIVE("suspend functions of coroutines, sleeping when nothing comes for a while"),

    /** One thread that posts and polls by itself, all the time. */
    POLLED("plain verbs, polling all the time"),
    ;

    /** Whether a device's thread polls for its coroutines, and sleeps. */
    internal val sleeps: Boolean get() = this == EVENTS || this == ADAPTIVE

    /** For people. */
    override fun toString(): String = text
}
