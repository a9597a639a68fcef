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
 * Runs [block] with a connection to a server, and again with a new connection each time the connection is lost, until
 * the block returns:
 *
 * ```
 * host.reconnecting("server", 7471) { connection ->
 *     while (jobs.isNotEmpty()) {
 *         connection.send(jobs.first())
 *         results += connection.receive()
 *         jobs.removeFirst()               // done: after a loss the block continues with the next job
 *     }
 * }
 * ```
 *
 * A connection counts as lost when the block throws a [ConnectionException], a [WorkCompletionException] or a
 * [ChannelClosedException], or an [RdmaException] or [IOException] with one of those as its cause, as requests and
 * streams throw; also when the server has not taken all messages after the block ([MessageConnection.disconnect]).
 * Every other exception of the block is thrown. After a loss it is not known which of the block's messages the server
 * has received.
 *
 * When a connection is lost or cannot be made, this function writes a line to the [System.Logger]
 * `org.kverbs.coroutines`, waits ([ClientBuilder.backOff]) and connects again, for ever unless
 * [ClientBuilder.giveUpAfter] or `withTimeout` ends it. It tries again if the server is full or not there, but not if
 * the server's [ServerBuilder.authorize] has refused the client ([ClientBuilder.retryIf]).
 *
 * @throws org.kverbs.cm.ConnectionRejectedException if the server refuses this client
 * @throws RdmaException the failure of the last attempt, when this gives up
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

/** Does the same for a host name or IP address; a name is looked up at each attempt. */
public suspend fun <R> RdmaHost.reconnecting(
    host: String,
    port: Int,
    settings: ClientBuilder.() -> Unit = {},
    block: suspend CoroutineScope.(MessageConnection) -> R,
): R = reconnecting(InetSocketAddress.createUnresolved(host, port), settings, block)
