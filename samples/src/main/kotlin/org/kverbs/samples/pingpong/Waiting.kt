package org.kverbs.samples.pingpong

/** How an end waits for its messages. */
enum class Waiting(
    private val text: String,
) {
    /** Coroutines in suspend functions, on the one thread that polls for them all the time. */
    SUSPENDED("suspend functions of coroutines, polling all the time"),

    /** Coroutines in suspend functions; a device's thread sleeps until there are completions. */
    EVENTS("suspend functions of coroutines, sleeping until there are completions"),

    /** One thread that posts and polls by itself, all the time. */
    POLLED("plain verbs, polling all the time"),
    ;

    /** For people. */
    override fun toString(): String = text
}
