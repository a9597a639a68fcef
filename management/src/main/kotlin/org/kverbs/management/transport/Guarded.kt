package org.kverbs.management.transport

/**
 * Calls what another program or part wrote, such as a receiver or a listener. What it throws, an Error among it, costs
 * its own datagram: the thread's handler of uncaught exceptions gets it, and the thread goes on with the next one.
 */
internal inline fun guarded(call: () -> Unit) {
    try {
        call()
    } catch (e: Throwable) {
        val thread = Thread.currentThread()
        thread.uncaughtExceptionHandler.uncaughtException(thread, e)
    }
}
