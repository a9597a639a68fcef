package org.kverbs.coroutines

import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.io.IOException
import org.kverbs.RdmaException
import org.kverbs.WorkCompletionException
import org.kverbs.cm.ConnectionException
import org.kverbs.cm.ConnectionRejectedException
import java.net.InetSocketAddress

/**
 * Runs [block] with a connection to a server, and again with a new connection whenever that one is lost, until the
 * block returns:
 *
 * ```
 * host.reconnecting("server", 7471) { connection ->
 *     while (jobs.isNotEmpty()) {
 *         connection.send(jobs.first())
 *         results += connection.receive()
 *         jobs.removeFirst()               // done: after a loss the block goes on behind it
 *     }
 * }
 * ```
 *
 * A connection is lost when the block throws a [ConnectionException], a [WorkCompletionException] or a
 * [ChannelClosedException], or an [RdmaException] or [IOException] that one of those has caused, as requests and
 * streams do, and when the server has not taken all messages after the block ([MessageConnection.disconnect]). What
 * else the block throws is thrown. The server may have received what the block had sent, or not.
 *
 * When a connection is lost, or none can be made, it writes a line to the [System.Logger] `org.kverbs.coroutines`,
 * waits ([ClientBuilder.backOff]) and connects. It goes on for ever, unless [ClientBuilder.giveUpAfter] or
 * `withTimeout` ends it. A server that is full or not there is tried again; one whose [ServerBuilder.authorize] says no
 * ends it ([ClientBuilder.retryIf]).
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the server does not let this client in
 * @throws RdmaException why the last attempt failed, when it gives up
 */
public suspend fun <R> RdmaHost.reconnecting(
    address: InetSocketAddress,
    settings: ClientBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R {
    val chosen = ClientBuilder().apply(settings)
    val backOff = BackOff(chosen.firstPause, chosen.longestPause, chosen.giveUpAfter)
    while (true) {
        val failure =
            try {
                val connection = started(establish(address, chosen.setUp(this)), hasAsked = true)
                backOff.connected()
                return connection.use { coroutineScope { block(it) }.also { connection.disconnect() } }
            } catch (e: Exception) {
                if (!isLoss(e)) throw e
                e
            }
        if (!chosen.retryIf(failure)) throw failure
        val pause = backOff.pause() ?: throw failure
        val line = "the connection to ${address.shown()} failed: ${described(failure)}; the next attempt is in $pause"
        FailureLog.connections.add(line, failure)
        delay(pause)
    }
}

private fun described(failure: Exception): String {
    val rejection = (failure as? ConnectionRejectedException)?.let(Rejection::of) ?: return failure.toString()
    return "the server rejected it: ${rejection.text}"
}

private fun isLoss(failure: Throwable?): Boolean =
    when (failure) {
        is ConnectionException, is WorkCompletionException, is ChannelClosedException -> true
        is RdmaException, is IOException -> isLoss(failure.cause)
        else -> false
    }

/** The same by the server's name or IP address, which is looked up at each attempt. */
public suspend fun <R> RdmaHost.reconnecting(
    host: String,
    port: Int,
    settings: ClientBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R = reconnecting(InetSocketAddress.createUnresolved(host, port), settings, block)
