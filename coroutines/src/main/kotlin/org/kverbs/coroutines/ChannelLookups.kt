package org.kverbs.coroutines

import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.kverbs.RemoteMemory

/**
 * Finds what the peer has published, and asks it if that is not known. The answer says nothing but that it was asked:
 * what the peer published before has come before it. One question at a time is under way.
 */
internal class ChannelLookups(
    private val link: ChannelLink,
) {
    private val turn = Mutex()

    @Volatile
    private var asked: CompletableDeferred<Unit>? = null

    /** What the peer has published by this name when it is asked. */
    suspend fun find(name: String): RemoteMemory {
        link.remotes.find(name)?.let { return it }
        turn.withLock { ask() }
        return link.remotes.find(name) ?: throw NotPublishedException(name, link.remotes.names)
    }

    /** Asks without wanting to know, so that the peer hears something. */
    suspend fun touch(): Unit = turn.withLock { ask() }

    private suspend fun ask() {
        asked?.await() // left by a caller that was cancelled
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

    /** The peer has answered. */
    fun answered() {
        val question =
            asked ?: throw ChannelProtocolException("the peer answered a question that this side did not ask")
        asked = null
        question.wake(Unit)
    }

    /** The channel has ended. */
    fun fail(cause: Throwable) {
        asked?.fail(cause)
    }
}
