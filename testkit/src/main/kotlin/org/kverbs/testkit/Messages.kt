@file:JvmMultifileClass
@file:JvmName("Testkit")

package org.kverbs.testkit

import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.withTimeoutOrNull
import org.kverbs.coroutines.MessageChannel
import org.kverbs.coroutines.MessageConnection
import kotlin.time.Duration
import kotlin.time.Duration.Companion.seconds

/** Bytes of an unexpected message that a failure shows. */
private const val SHOWN = 64
private val PATIENCE = 10.seconds

/** How long nothing is to come, if a test doesn't say. */
internal val SILENCE = 1.seconds

/**
 * Receives the next message of the peer.
 *
 * @param within time of the test's clock that it may take
 * @throws AssertionError if none came in time, or none can, as the channel has ended; the cause says why
 */
public suspend fun MessageChannel.awaitMessage(within: Duration = PATIENCE): ByteArray = await(within, ::receiveOrNull)

/** Receives the next message of the peer; parameters and errors as for a channel. */
public suspend fun MessageConnection.awaitMessage(within: Duration = PATIENCE): ByteArray = channel.awaitMessage(within)

/**
 * Fails if a message of the peer comes.
 *
 * @param within time of the test's clock that is waited, which on embedded devices takes none
 * @throws AssertionError if a message came, or if the channel ended by a failure
 */
public suspend fun MessageChannel.expectNoMessage(within: Duration = SILENCE): Unit = unawaited(within, ::receiveOrNull)

/** Fails if a message of the peer comes; parameters and errors as for a channel. */
public suspend fun MessageConnection.expectNoMessage(within: Duration = SILENCE): Unit = channel.expectNoMessage(within)

private suspend fun Any.await(
    within: Duration,
    receive: suspend () -> ByteArray?,
): ByteArray {
    val answer = answer(within, receive) ?: throw AssertionError("no message came to the $this within $within")
    return orEnded(answer) ?: throw AssertionError("no message can come to the $this any more: its peer has finished")
}

private suspend fun Any.unawaited(
    within: Duration,
    receive: suspend () -> ByteArray?,
) {
    orEnded(answer(within, receive) ?: return)?.let { throw unexpected(it, within, toString()) }
}

/** What was received, or why that failed; null if the time was over. */
private suspend fun answer(
    within: Duration,
    receive: suspend () -> ByteArray?,
): Result<ByteArray?>? =
    withTimeoutOrNull(within) {
        runCatching { receive() }.onFailure { if (it is CancellationException) throw it }
    }

/** Not thrown within the timeout, which replaces an error by a copy of itself. */
private fun Any.orEnded(answer: Result<ByteArray?>): ByteArray? =
    answer.getOrElse { throw AssertionError("no message can come to the $this any more: ${it.message}", it) }

internal fun unexpected(
    message: ByteArray,
    within: Duration,
    where: String,
): AssertionError {
    val start = message.copyOf(minOf(message.size, SHOWN))
    val text = start.decodeToString()
    val shown = if (text.none { it.isISOControl() || it == '\uFFFD' }) "\"$text\"" else start.toHexString()
    return AssertionError("no message was to come to the $where within $within, and ${message.size} bytes came: $shown")
}

/** Refuses a datagram that the device would drop in silence. */
internal fun requireDatagram(
    message: ByteArray,
    mtu: Int,
) {
    require(
        message.size <= mtu,
    ) { "a datagram of ${message.size} bytes: at most the path MTU, $mtu bytes, goes into one" }
}
