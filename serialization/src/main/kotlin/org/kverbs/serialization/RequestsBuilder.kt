package org.kverbs.serialization

import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.BinaryFormat

private const val MAX_IN_FLIGHT = 256
private val LOG: System.Logger = System.getLogger("org.kverbs.serialization")

/** Configures the requests that one side of a connection answers; see [requests] and [answerRequests]. */
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
     * Answers a method with a handler, which runs in a coroutine of its own for each request. The handler is cancelled
     * when the caller no longer waits, when the request's timeout is over, and when the connection ends. If the handler
     * throws, the caller gets a [RemoteFailureException] with the same message.
     *
     * @throws IllegalArgumentException if a method of this name has a handler already
     */
    public fun <Request : Any, Answer : Any> answer(
        method: Method<Request, Answer>,
        handler: suspend (Request) -> Answer,
    ): Unit = add(method.name, single(method, handler))

    /**
     * Answers a method with a flow, which is collected while the caller takes more items; otherwise as above.
     *
     * @throws IllegalArgumentException if a method of this name has a handler already
     */
    public fun <Request : Any, Item : Any> answer(
        method: StreamMethod<Request, Item>,
        handler: suspend (Request) -> Flow<Item>,
    ): Unit = add(method.name, stream(method, handler))

    private fun add(
        name: String,
        handler: Handler,
    ) {
        require(handlers.putIfAbsent(name, handler) == null) {
            "the method \"$name\" has a handler already; give each method one handler"
        }
    }

    /** Sets the format of requests and answers; default [DefaultFormat]. Both sides must use the same format. */
    public fun format(format: BinaryFormat) {
        this.format = format
    }

    /**
     * Sets the number of requests that can be under way at the same time in each direction; default 256. The peer
     * learns the number and lets its callers wait; a peer that makes more requests loses the connection. Each request
     * takes memory for its message, for its coroutine, and for its answer until the peer has room for it.
     *
     * @throws IllegalArgumentException if [count] is not 1 to 1,000,000
     */
    public fun maxInFlight(count: Int) {
        require(count in 1..MAX_COUNT) { "maxInFlight($count): give 1 to $MAX_COUNT" }
        maxInFlight = count
    }

    /** Shows callers the class name of a handler's exception; by default callers get only the message. */
    public fun showFailureClasses(shown: Boolean = true) {
        showsFailureClasses = shown
    }

    /**
     * Sets the function that is called with the exception of a handler, after the caller was told; by default the
     * exception is written to the [System.Logger] `org.kverbs.serialization`. It is not called for cancelled requests,
     * for unknown methods, and for requests that could not be decoded.
     */
    public fun onFailure(block: (method: String, failure: Throwable) -> Unit) {
        onFailure = block
    }

    private companion object {
        const val MAX_COUNT = 1_000_000
    }
}
