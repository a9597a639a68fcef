package org.kverbs.serialization

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.job
import org.kverbs.coroutines.MessageConnection

/**
 * Makes requests to a peer that answers them with [answerRequests]; many can be under way at the same time.
 *
 * ```
 * val greet = method<String, String>("greet")                // in a file that both sides share
 * val count = streamMethod<Int, Int>("count")
 *
 * rdmaClient("server", 7471) { connection ->
 *     connection.requests {
 *         println(call(greet, "Ada", timeout = 1.seconds))
 *         stream(count, 3).collect(::println)
 *     }
 * }
 * ```
 *
 * The requests own the connection: do not send or receive messages on it, during the block and after it. Coroutines
 * that the block has launched end before this returns. Both sides can make and answer requests at the same time:
 * [settings] names the methods that this side answers while the block runs. When the block ends, the peer's requests
 * are cancelled.
 *
 * @return the result of the block
 * @throws IllegalStateException if [requests] or [answerRequests] was called on this connection before, or it carries
 *   another protocol, such as kRPC
 */
public suspend fun <R> MessageConnection.requests(
    settings: RequestsBuilder.() -> Unit = {},
    block: suspend RequestScope.() -> R,
): R {
    val builder = RequestsBuilder().apply(settings)
    // Never given up: a later reader sends a second hello, which breaks the protocol.
    val carried = claimMessages("requests")
    check(carried == null) {
        "$this carries $carried already: call requests or answerRequests once on a connection. One block makes and " +
            "answers any number of requests; connect again for another block"
    }
    return coroutineScope {
        val background = CoroutineScope(coroutineContext + SupervisorJob(coroutineContext.job))
        val link = RequestLink(this@requests, builder, background)
        link.start()
        try {
            coroutineScope { RequestScope(link, this).block() }
        } finally {
            link.close()
            background.cancel()
        }
    }
}

/**
 * Answers the peer's requests until the peer has finished; cancels the requests that are under way then.
 *
 * ```
 * rdmaServer(7471) { connection ->
 *     connection.answerRequests {
 *         answer(greet) { name -> "hello $name" }
 *         answer(count) { to -> (1..to).asFlow() }
 *     }
 * }
 * ```
 *
 * Handlers run concurrently, in the caller's context.
 *
 * @throws RequestProtocolException if the peer broke the protocol
 * @throws org.kverbs.RdmaException if the connection failed
 * @throws IllegalStateException if [requests] or [answerRequests] was called on this connection before, or it carries
 *   another protocol, such as kRPC
 */
public suspend fun MessageConnection.answerRequests(settings: RequestsBuilder.() -> Unit) {
    requests(settings) { awaitEnd() }
}
