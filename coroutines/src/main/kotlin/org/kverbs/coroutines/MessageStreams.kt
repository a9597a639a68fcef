package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.io.Buffer
import kotlinx.io.RawSink
import kotlinx.io.RawSource
import kotlinx.io.readByteArray

private const val MESSAGE_SIZE = 65536

/**
 * The bytes that the peer sends, as a blocking source of kotlinx-io; where one message ends and the next begins does
 * not matter. It ends when the peer has finished. While nobody reads, the peer's writes wait.
 *
 * ```
 * SystemFileSystem.sink(Path("copy")).buffered().use { file -> connection.asSource().buffered().transferTo(file) }
 * ```
 *
 * It blocks its thread, so use it in [Dispatchers.IO] or on a virtual thread; [transferTo] suspends instead. One thread
 * at a time.
 *
 * Reading throws [kotlinx.io.IOException] if the connection fails before the peer has finished, and
 * [java.io.InterruptedIOException] if the thread is interrupted. Closing the source leaves the connection open.
 */
public fun MessageConnection.asSource(): RawSource = MessageSource(this)

/**
 * Bytes to the peer, as a blocking sink of kotlinx-io. They are gathered into messages of [messageSize] bytes; flushing
 * sends what there is. Closing it sends the rest and ends the stream ([MessageConnection.finish]); the other direction
 * stays open. While the peer does not read, writing waits.
 *
 * ```
 * SystemFileSystem.source(Path("file")).buffered().use { file ->
 *     connection.asSink().buffered().use { sink -> file.transferTo(sink) }
 * }
 * ```
 *
 * It blocks its thread, so use it in [Dispatchers.IO] or on a virtual thread; [transferFrom] suspends instead. One
 * thread at a time.
 *
 * Writing throws [kotlinx.io.IOException] if the connection fails or the peer takes no messages of this size, and
 * [java.io.InterruptedIOException] if the thread is interrupted.
 *
 * @param messageSize in bytes
 * @throws IllegalArgumentException if it is not positive
 */
public fun MessageConnection.asSink(messageSize: Int = MESSAGE_SIZE): RawSink {
    require(messageSize > 0) { "a message of a stream has 1 byte at least, not $messageSize" }
    return MessageSink(this, messageSize)
}

/**
 * Sends all bytes of a source, in messages of [messageSize] bytes. The stream goes on after it:
 * [MessageConnection.finish] tells the peer that it was the last part. Reads the source in [Dispatchers.IO], as sources
 * block. Cancellation takes effect between messages. The source stays the caller's to close.
 *
 * @param messageSize in bytes
 * @return how many bytes were sent
 * @throws kotlinx.io.IOException if the source fails
 * @throws org.kverbs.RdmaException if the connection fails
 * @throws IllegalArgumentException if messageSize is not positive, or more than the peer takes
 */
public suspend fun MessageConnection.transferFrom(
    source: RawSource,
    messageSize: Int = MESSAGE_SIZE,
): Long {
    require(messageSize > 0) { "a message of a stream has 1 byte at least, not $messageSize" }
    return withContext(Dispatchers.IO) {
        val buffer = Buffer()
        var sent = 0L
        do {
            val isLast = source.readAtMostTo(buffer, messageSize - buffer.size) < 0
            if (buffer.size == messageSize.toLong() || (isLast && !buffer.exhausted())) {
                sent += buffer.size
                send(buffer.readByteArray())
            }
        } while (!isLast)
        sent
    }
}

/**
 * Writes all bytes that the peer sends to a sink, until the peer has finished, and flushes it. Writes in
 * [Dispatchers.IO], as sinks block. The sink stays the caller's to close.
 *
 * @return how many bytes came
 * @throws kotlinx.io.IOException if the sink fails
 * @throws org.kverbs.RdmaException if the connection fails before the peer has finished
 */
public suspend fun MessageConnection.transferTo(sink: RawSink): Long =
    withContext(Dispatchers.IO) {
        val buffer = Buffer()
        var received = 0L
        while (true) {
            buffer.write(receiveOrNull() ?: break)
            received += buffer.size
            sink.write(buffer, buffer.size)
        }
        sink.flush()
        received
    }
