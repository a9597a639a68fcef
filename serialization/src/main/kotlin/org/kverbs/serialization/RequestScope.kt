package org.kverbs.serialization

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration
import kotlin.time.TimeSource

private const val ITEMS = 64

/**
 * Makes requests to the peer of a connection, in the block of [requests]. Any number can be under way at the same time,
 * from any thread; answers come in any order.
 */
public class RequestScope internal constructor(
    private val link: RequestLink,
    scope: CoroutineScope,
) : CoroutineScope by scope {
    /**
     * Calls a method of the peer and suspends until the peer has answered. While the peer takes no further requests,
     * the call waits; this wait counts in [timeout]. Cancelling the caller cancels the peer's handler.
     *
     * @param timeout time for the whole call; the peer's handler gets the rest of it. No limit by default.
     * @throws RemoteFailureException if the peer could not answer; the connection lives on
     * @throws RequestTimeoutException if the peer did not answer in time; the connection lives on
     * @throws MessageDecodingException if the answer has another type; the connection lives on
     * @throws RequestsEndedException if the connection fails, or the peer finishes, before the answer
     * @throws IllegalArgumentException if the request is too long for the peer
     */
    public suspend fun <Request : Any, Answer : Any> call(
        method: Method<Request, Answer>,
        request: Request,
        timeout: Duration = Duration.INFINITE,
    ): Answer {
        val payload = link.format.encodeToByteArray(method.request, request)
        val answer =
            withTimeoutOrNull(timeout) {
                val call = link.caller.open(method.name, 0, payload, timeout)
                try {
                    call.next()
                } finally {
                    link.caller.giveUp(call)
                }
            } ?: throw RequestTimeoutException(method.name, timeout)
        return link.format.decode(method.answer, answer)
    }

    /**
     * Returns the items of a stream method of the peer as a cold flow: each collector makes a request of its own. The
     * peer sends at most [buffer] items ahead of the collector. Cancelling the collector cancels the peer's flow.
     *
     * The flow throws the exceptions of [call], after the items that have arrived.
     *
     * @param timeout time for the whole stream, including the time that the collector takes. No limit by default.
     * @param buffer the most items that this side holds in memory ahead of the collector; default 64
     * @throws IllegalArgumentException if [buffer] is not above 0
     */
    public fun <Request : Any, Item : Any> stream(
        method: StreamMethod<Request, Item>,
        request: Request,
        timeout: Duration = Duration.INFINITE,
        buffer: Int = ITEMS,
    ): Flow<Item> {
        require(buffer > 0) { "buffer($buffer): give 1 or more items" }
        return flow {
            val payload = link.format.encodeToByteArray(method.request, request)
            val deadline = TimeSource.Monotonic.markNow() + timeout

            suspend fun <T : Any> inTime(block: suspend () -> T): T? =
                if (timeout.isInfinite()) {
                    block()
                } else {
                    withTimeoutOrNull(-deadline.elapsedNow()) { block() }
                }

            var opened: PendingCall? = null // set even if inTime loses the call, to a cancellation or the timeout
            try {
                val call =
                    inTime { link.caller.open(method.name, buffer, payload, timeout).also { opened = it } }
                        ?: throw RequestTimeoutException(method.name, timeout, 0)
                var taken = 0
                while (true) {
                    val item = inTime { call.next() ?: LAST } ?: throw call.late()
                    if (item === LAST) break
                    emit(link.format.decode(method.item, item))
                    if (++taken < (buffer + 1) / 2) continue
                    link.caller.credit(call, taken)
                    taken = 0
                }
            } finally {
                opened?.let(link.caller::giveUp)
            }
        }
    }

    /**
     * Suspends until the peer has finished and its requests have ended. [answerRequests] does only this.
     *
     * @throws RequestProtocolException if the peer broke the protocol
     * @throws org.kverbs.RdmaException if the connection failed
     */
    public suspend fun awaitEnd(): Unit = link.awaitEnd()

    private companion object {
        /** Marks the end of a stream; null marks the timeout. */
        val LAST = ByteArray(0)
    }
}
