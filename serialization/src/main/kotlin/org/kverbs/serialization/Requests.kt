package org.kverbs.serialization

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.job
import org.kverbs.coroutines.MessageConnection

/**
 * Makes requests to the peer, which answers them by [answerRequests]; many can be under way at the same time.
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
 * The connection is theirs: nothing else may send or receive on it, during the block and after it. Requests that the
 * block has launched end before this returns. Both sides can ask and answer at the same time: [settings] says what this
 * side answers while the block runs; when the block ends, the peer's requests are cancelled.
 *
 * @return what the block returns
 */
public suspend fun <R> MessageConnection.requests(
    settings: RequestsBuilder.() -> Unit = {},
    block: suspend RequestScope.() -> R,
): R {
    val builder = RequestsBuilder().apply(settings)
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
 * Answers the peer's requests until it has finished; those that are under way then are cancelled.
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
 * Handlers run beside each other, in the caller's context.
 *
 * @throws RequestProtocolException if the peer broke the protocol
 * @throws org.kverbs.RdmaException if the connection failed
 */
public suspend fun MessageConnection.answerRequests(settings: RequestsBuilder.() -> Unit) {
    requests(settings) { awaitEnd() }
}
