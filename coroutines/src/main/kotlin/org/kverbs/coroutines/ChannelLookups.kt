package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.RemoteMemory

/**
 * Finds memory that the peer has published, and asks the peer if the name is not known. The answer has no content: the
 * peer's earlier publications have arrived before it. One LOOKUP at a time is under way.
 */
internal class ChannelLookups(
    private val link: ChannelLink,
) {
    private val turn = Mutex()

    @Volatile
    private var asked: CompletableDeferred<Unit>? = null

    /** Returns the memory that the peer has published under this name when it answers. */
    suspend fun find(name: String): RemoteMemory {
        link.remotes.find(name)?.let { return it }
        turn.withLock { ask() }
        return link.remotes.find(name) ?: throw NotPublishedException(name, link.remotes.names)
    }

    /** Sends a LOOKUP only so that the peer hears something. */
    suspend fun touch(): Unit = turn.withLock { ask() }

    private suspend fun ask() {
        asked?.await() // a cancelled caller has left its question
        val question = CompletableDeferred<Unit>()
        asked = question
        var sent = false
        try {
            link.outbox.send(ChannelMessage.LOOKUP, 0) {}
            sent = true
        } finally {
            if (!sent) asked = null
        }
        question.await()
    }

    /** Takes the peer's answer. */
    fun answered() {
        val question =
            asked ?: throw ChannelProtocolException("the peer answered a question that this side did not ask")
        asked = null
        question.wake(Unit)
    }

    /** Fails the question under way, as the channel has ended. */
    fun fail(cause: Throwable) {
        asked?.fail(cause)
    }
}
