package org.kverbs.coroutines

import org.kverbs.CompletionQueue

/** A completion queue in a [PollLoop]. Only the polling thread calls it, except [fail]. */
internal abstract class Pollable(
    val cq: CompletionQueue,
) {
    /** True if the queue is armed: its next completion causes an event. */
    var isArmed: Boolean = false

    /** Takes the completions and gives them to their targets. Returns their number. Throws the queue's exceptions. */
    abstract fun poll(): Int

    /** Arms the queue, unless it is armed. */
    fun arm() {
        if (!isArmed) {
            cq.arm()
            isArmed = true
        }
    }

    /** Ends all waits, as no completion comes any more. Any thread can call, any number of times. */
    abstract fun fail(cause: Throwable)
}
