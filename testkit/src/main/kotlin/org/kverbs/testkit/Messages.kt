@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.coroutines.MessageChannel
import org.kverbs.coroutines.MessageConnection
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** The number of bytes that a failure shows of an unexpected message. */
private const val SHOWN = 64
private val PATIENCE = 10.seconds

/** How long a test waits for silence by default. */
internal val SILENCE = 1.seconds

/**
 * Receives the next message of the peer.
 *
 * @param within how long to wait on the test's clock
 * @throws AssertionError if no message arrives in time, or if none can arrive because the channel has ended; the cause
 *     tells why
 */
public suspend fun MessageChannel.awaitMessage(within: Duration = PATIENCE): ByteArray = await(within, ::receiveOrNull)

/** Receives the next message of the peer; parameters and errors as for a channel. */
public suspend fun MessageConnection.awaitMessage(within: Duration = PATIENCE): ByteArray = channel.awaitMessage(within)

/**
 * Fails if a message of the peer arrives.
 *
 * @param within how long to wait on the test's clock; on embedded devices this takes no real time
 * @throws AssertionError if a message arrived, or if the channel failed
 */
public suspend fun MessageChannel.expectNoMessage(within: Duration = SILENCE): Unit = unawaited(within, ::receiveOrNull)

/** Fails if a message of the peer arrives; parameters and errors as for a channel. */
public suspend fun MessageConnection.expectNoMessage(within: Duration = SILENCE): Unit = channel.expectNoMessage(within)

private suspend fun Any.await(
    within: Duration,
    receive: suspend () -> ByteArray?,
): ByteArray {
    val answer = answer(within, receive) ?: throw AssertionError("no message arrived at the $this within $within")
    return orEnded(answer) ?: throw AssertionError("no message can arrive at the $this any more: its peer has finished")
}

private suspend fun Any.unawaited(
    within: Duration,
    receive: suspend () -> ByteArray?,
) {
    orEnded(answer(within, receive) ?: return)?.let { throw unexpected(it, within, toString()) }
}

/** Returns the received message, or the reason why the receive failed; null if the time passed. */
private suspend fun answer(
    within: Duration,
    receive: suspend () -> ByteArray?,
): Result<ByteArray?>? =
    withTimeoutOrNull(within) {
        runCatching { receive() }.onFailure { if (it is CancellationException) throw it }
    }

/** Throws outside the timeout, which would replace an error by a copy of itself. */
private fun Any.orEnded(answer: Result<ByteArray?>): ByteArray? =
    answer.getOrElse { throw AssertionError("no message can arrive at the $this any more: ${it.message}", it) }

internal fun unexpected(
    message: ByteArray,
    within: Duration,
    where: String,
): AssertionError {
    val start = message.copyOf(minOf(message.size, SHOWN))
    val text = start.decodeToString()
    val shown = if (text.none { it.isISOControl() || it == '\uFFFD' }) "\"$text\"" else start.toHexString()
    return AssertionError(
        "no message should arrive at the $where within $within, but one of ${message.size} bytes " +
            "did: $shown",
    )
}

/** Refuses a datagram that the device drops without an error. */
internal fun requireDatagram(
    message: ByteArray,
    mtu: Int,
) {
    require(
        message.size <= mtu,
    ) { "a datagram can't have ${message.size} bytes: send at most the path MTU, $mtu bytes, in each" }
}
