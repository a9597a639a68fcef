package org.kverbs.management.transaction

/**
 * Sees each event of a [MadTransactor], for tracing: `MadListener(::println)` prints a line for each.
 *
 * The thread or coroutine to which the event happened calls it, so it must be quick. What it throws is handed to the
 * thread's handler of uncaught exceptions, and changes no transaction.
 */
public fun interface MadListener {
    /** Sees an event. */
    public fun on(event: MadEvent)
}
