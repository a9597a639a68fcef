package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import org.kverbs.MemorySlice

/** A receive that its caller awaits later, and the memory it wants its message in, which [pin] keeps. */
internal class PostedReceive(
    val memory: MemorySlice,
    val pin: RegisteredBuffer?,
) {
    val message: CompletableDeferred<Received> = CompletableDeferred()
}
