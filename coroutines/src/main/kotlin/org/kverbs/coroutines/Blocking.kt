package org.kverbs.coroutines

import kotlinx.coroutines.runBlocking

/**
 * Blocks the calling thread until [block] is done. The thread is parked, so a virtual thread leaves its carrier. An
 * interrupt cancels the block, on this thread as the block runs there; this returns when the block has ended, so that
 * nothing is received for a caller that has gone.
 */
@Throws(InterruptedException::class)
internal fun <T> blocking(block: suspend () -> T): T {
    if (Thread.interrupted()) throw InterruptedException()
    return runBlocking { block() }
}
