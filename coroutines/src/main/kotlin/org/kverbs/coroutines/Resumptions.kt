package org.kverbs.coroutines

import kotlinx.coroutines.CancellableContinuation

/** Who is to run again, with what. Collected under a lock and run without it. */
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

    /** Who was cancelled meanwhile, or is before it runs, takes nothing: its chunk goes to [unused]. */
    fun run(unused: (Chunk) -> Unit) {
        for (i in continuations.indices) {
            val isWoken = waking { continuations[i].resume(chunks[i]) { _, chunk, _ -> unused(chunk) } }
            if (!isWoken) unused(chunks[i])
        }
    }
}
