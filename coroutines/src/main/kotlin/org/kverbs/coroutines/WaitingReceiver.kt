package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation

/**
 * A coroutine that waits for the first message of a [ChannelInbox].
 *
 * @param reads true if it can read an offered message itself
 */
internal class WaitingReceiver(
    val reads: Boolean,
    private val release: (WaitingReceiver) -> Unit,
) : ChannelInbox.Receiver {
    lateinit var continuation: CancellableContinuation<Unit>

    /** An offered message that the receiver was given; the inbox's lock guards it until the receiver is woken. */
    var given: ChannelArrival? = null

    override fun wake(): Boolean {
        continuation.resume(Unit) { _, _, _ -> release(this) }
        return true
    }
}
