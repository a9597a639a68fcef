package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.MemorySlice

/**
 * A receive whose caller awaits the message later, with the memory for the message. [pin] is the buffer to unpin at the
 * end.
 */
internal class PostedReceive(
    val memory: MemorySlice,
    val pin: RegisteredBuffer?,
) {
    val message: CompletableDeferred<Received> = CompletableDeferred()
}
