package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation

/** Collects coroutines to resume under a lock, and resumes them without it. */
internal class Resumptions {
    private val continuations = ArrayList<CancellableContinuation<Chunk>>(2)
    private val chunks = ArrayList<Chunk>(2)

    fun add(
        continuation: CancellableContinuation<Chunk>,
        chunk: Chunk,
    ) {
        continuations.add(continuation)
        chunks.add(chunk)
    }

    /**
     * Resumes the coroutines. A coroutine that is cancelled before it runs takes nothing: its chunk goes to [unused].
     */
    fun run(unused: (Chunk) -> Unit) {
        for (i in continuations.indices) {
            val isWoken = waking { continuations[i].resume(chunks[i]) { _, chunk, _ -> unused(chunk) } }
            if (!isWoken) unused(chunks[i])
        }
    }
}
