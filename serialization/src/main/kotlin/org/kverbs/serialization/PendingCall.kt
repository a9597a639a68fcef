package org.kverbs.serialization

import kotlinx.coroutines.Job
import kotlinx.coroutines.channels.Channel
import kotlin.time.Duration

/** A request of this side that the peer has not ended yet. The reader puts in what comes, the caller takes it out. */
internal class PendingCall(
    val id: Long,
    val method: String,
    val timeout: Duration,
    val isStream: Boolean,
    credits: Int,
) {
    /** How many items of a stream have come. */
    @Volatile
    var items = 0
        private set
    private val incoming = Channel<ByteArray>(credits)

    @Volatile
    private var failure: ((PendingCall) -> Exception)? = null

    /** Completes when the request has left this side; the peer must not hear of its end before. */
    lateinit var sending: Job

    /** Adds an item of a stream, or the answer. */
    fun add(
        payload: ByteArray,
        item: Boolean,
    ) {
        if (item != isStream) throw RequestProtocolException("the peer answered \"$method\" as another kind of method")
        // A call that was given up has closed the queue.
        val added = incoming.trySend(payload)
        if (added.isFailure && !added.isClosed) {
            throw RequestProtocolException("the peer sent more items than it had credit for")
        }
        items++
    }

    /** That the call has not ended in time. */
    fun late(): RequestTimeoutException =
        if (isStream) RequestTimeoutException(method, timeout, items) else RequestTimeoutException(method, timeout)

    /** Ends the call; [why] makes the exception where the caller waits, so that the trace is the caller's. */
    fun end(why: ((PendingCall) -> Exception)? = null) {
        failure = why
        incoming.close()
    }

    /** The next item, or the answer; null after the last. Throws why the call failed. */
    suspend fun next(): ByteArray? {
        val next = incoming.receiveCatching()
        if (next.isClosed) failure?.let { throw it(this) }
        return next.getOrNull()
    }

    /** Nobody takes items any more. */
    fun giveUp(): Unit = incoming.cancel()
}
