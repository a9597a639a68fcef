package org.kverbs.serialization

import kotlinx.coroutines.Job
import kotlinx.coroutines.channels.Channel
import kotlin.time.Duration

/**
 * A request of this side that the peer has not ended yet. The reader adds the answer or the items, the caller takes
 * them.
 */
internal class PendingCall(
    val id: Long,
    val method: String,
    val timeout: Duration,
    val isStream: Boolean,
    credits: Int,
) {
    /** Number of items of a stream that have arrived. */
    @Volatile
    var items = 0
        private set
    private val incoming = Channel<ByteArray>(credits)

    @Volatile
    private var failure: ((PendingCall) -> Exception)? = null

    /** Completes when the request was sent; a Cancel must not overtake it. */
    lateinit var sending: Job

    /** Adds an item of a stream, or the answer. */
    fun add(
        payload: ByteArray,
        item: Boolean,
    ) {
        if (item != isStream) throw RequestProtocolException("the peer answered \"$method\" as another kind of method")
        // Giving up a call closes the queue.
        val added = incoming.trySend(payload)
        if (added.isFailure && !added.isClosed) {
            throw RequestProtocolException("the peer sent more items than it had credit for")
        }
        items++
    }

    /** Creates the exception for a call that has not ended in time. */
    fun late(): RequestTimeoutException =
        if (isStream) RequestTimeoutException(method, timeout, items) else RequestTimeoutException(method, timeout)

    /**
     * Ends the call; [why] creates the exception in the caller's coroutine, so that the stack trace is the caller's.
     */
    fun end(why: ((PendingCall) -> Exception)? = null) {
        failure = why
        incoming.close()
    }

    /** Returns the next item, or the answer; null after the last. Throws the failure of the call. */
    suspend fun next(): ByteArray? {
        val next = incoming.receiveCatching()
        if (next.isClosed) failure?.let { throw it(this) }
        return next.getOrNull()
    }

    /** Drops items from now on. */
    fun giveUp(): Unit = incoming.cancel()
}
