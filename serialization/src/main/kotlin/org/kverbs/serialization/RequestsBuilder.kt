package org.kverbs.serialization

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.BinaryFormat

private const val MAX_IN_FLIGHT = 256
private val LOG: System.Logger = System.getLogger("org.kverbs.serialization")

/** Says what one side of a connection answers, and how; see [requests] and [answerRequests]. */
public class RequestsBuilder internal constructor() {
    internal val handlers = LinkedHashMap<String, Handler>()
    internal var format: BinaryFormat = DefaultFormat
        private set
    internal var maxInFlight = MAX_IN_FLIGHT
        private set
    internal var showsFailureClasses = false
        private set
    internal var onFailure: (String, Throwable) -> Unit = { method, failure ->
        LOG.log(System.Logger.Level.WARNING, "a request for \"$method\" failed", failure)
    }
        private set

    /**
     * Answers a method. The handler runs in a coroutine of its own for each request, beside the others. It is cancelled
     * when the caller does not wait any more, when the request's time is over, and when the connection ends. What it
     * throws becomes the caller's [RemoteFailureException] with the same message.
     *
     * @throws IllegalArgumentException if a method of this name is answered already
     */
    public fun <Request : Any, Answer : Any> answer(
        method: Method<Request, Answer>,
        handler: suspend (Request) -> Answer,
    ): Unit = add(method.name, single(method, handler))

    /**
     * Answers a method by a flow, which is collected while the caller has room for more items; all else is as with a
     * single answer.
     *
     * @throws IllegalArgumentException if a method of this name is answered already
     */
    public fun <Request : Any, Item : Any> answer(
        method: StreamMethod<Request, Item>,
        handler: suspend (Request) -> Flow<Item>,
    ): Unit = add(method.name, stream(method, handler))

    private fun add(
        name: String,
        handler: Handler,
    ) {
        require(handlers.putIfAbsent(name, handler) == null) { "a method \"$name\" is answered already" }
    }

    /** The format of requests and answers, which must be the peer's, too; default [DefaultFormat]. */
    public fun format(format: BinaryFormat) {
        this.format = format
    }

    /**
     * How many requests may be under way at the same time in each direction, default 256. The peer is told and makes
     * its callers wait; a peer that makes more requests nevertheless loses the connection. Each takes memory for its
     * message, for its coroutine, and for its answer until the peer has room for it.
     *
     * @throws IllegalArgumentException unless it is 1 to 1,000,000
     */
    public fun maxInFlight(count: Int) {
        require(count in 1..MAX_COUNT) { "1 to $MAX_COUNT requests can be under way, not $count" }
        maxInFlight = count
    }

    /** Tells callers the class of an exception that a handler threw; by default they get its message alone. */
    public fun showFailureClasses(shown: Boolean = true) {
        showsFailureClasses = shown
    }

    /**
     * Told what a handler threw, after the caller; by default it is written to the [System.Logger]
     * `org.kverbs.serialization`. Cancelled requests and requests that could not be decoded are not told.
     */
    public fun onFailure(block: (method: String, failure: Throwable) -> Unit) {
        onFailure = block
    }

    private companion object {
        const val MAX_COUNT = 1_000_000
    }
}
