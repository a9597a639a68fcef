package org.kverbs.coroutines

import org.kverbs.CompletionQueue
import org.kverbs.WorkCompletions

/** A completion queue in a [PollLoop]. But for [fail], called by the polling thread alone. */
internal abstract class Pollable(
    val cq: CompletionQueue,
) {
    /** Whether an event is on order. */
    var isArmed: Boolean = false

    /** Hands out what has completed, using [batch] if it likes. Returns how many; throws what the queue throws. */
    abstract fun poll(batch: WorkCompletions): Int

    /** Orders an event, unless one is. */
    fun arm() {
        if (!isArmed) {
            cq.arm()
            isArmed = true
        }
    }

    /** No completion comes any more. Any thread, any number of times. */
    abstract fun fail(cause: Throwable)
}
