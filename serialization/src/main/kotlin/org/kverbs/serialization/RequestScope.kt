package org.kverbs.serialization

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.withTimeoutOrNull
import kotlin.time.Duration
import kotlin.time.TimeSource

private const val ITEMS = 64

/**
 * Makes requests to the peer of a connection, in the block of [requests]. Any number may be under way at the same time,
 * from any thread; answers come in any order.
 */
public class RequestScope internal constructor(
    private val link: RequestLink,
    scope: CoroutineScope,
) : CoroutineScope by scope {
    /**
     * Asks the peer and suspends until it has answered. While the peer has as many requests of this side as it takes,
     * the call waits, which counts as part of [timeout]. Cancelling the caller cancels the peer's handler.
     *
     * @param timeout for all of the call; the peer's handler gets the rest of it. No limit by default.
     * @throws RemoteFailureException if the peer could not answer; the connection lives on
     * @throws RequestTimeoutException if the peer did not answer in time; the connection lives on
     * @throws MessageDecodingException if the answer is of another type; the connection lives on
     * @throws RequestsEndedException if the connection fails or the peer finishes before it has answered
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
     * Asks the peer for a stream of items, as a cold flow: each collector makes a request of its own. The peer sends at
     * most [buffer] items ahead of the collector. Cancelling the collector cancels the peer's flow.
     *
     * The flow throws what [call] throws, after the items that had come.
     *
     * @param timeout for all of the stream, with the time that the collector takes. No limit by default.
     * @param buffer how many items this side holds in memory at most that the collector has not taken
     * @throws IllegalArgumentException if buffer is not positive
     */
    public fun <Request : Any, Item : Any> stream(
        method: StreamMethod<Request, Item>,
        request: Request,
        timeout: Duration = Duration.INFINITE,
        buffer: Int = ITEMS,
    ): Flow<Item> {
        require(buffer > 0) { "a stream needs a buffer of 1 item at least, not $buffer" }
        return flow {
            val payload = link.format.encodeToByteArray(method.request, request)
            val deadline = TimeSource.Monotonic.markNow() + timeout

            suspend fun <T : Any> inTime(block: suspend () -> T): T? =
                if (timeout.isInfinite()) {
                    block()
                } else {
                    withTimeoutOrNull(-deadline.elapsedNow()) { block() }
                }

            var opened: PendingCall? = null // also when inTime loses it, to a cancellation or the deadline
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
     * Suspends until the peer has sent its last message and what it asked for has ended; [answerRequests] is this and
     * nothing else.
     *
     * @throws RequestProtocolException if the peer broke the protocol
     * @throws org.kverbs.RdmaException if the connection failed
     */
    public suspend fun awaitEnd(): Unit = link.awaitEnd()

    private companion object {
        /** Stands for the end of a stream, as null is the end of the time. */
        val LAST = ByteArray(0)
    }
}
