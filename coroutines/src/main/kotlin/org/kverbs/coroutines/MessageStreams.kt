package org.kverbs.coroutines

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import kotlinx.io.Buffer
import kotlinx.io.RawSink
import kotlinx.io.RawSource
import kotlinx.io.readByteArray

private const val MESSAGE_SIZE = 65_536L

/**
 * Returns the peer's messages as a blocking kotlinx-io source of bytes, without the borders between messages. The
 * source ends when the peer has finished. While this side does not read, the peer's writes wait.
 *
 * ```
 * SystemFileSystem.sink(Path("copy")).buffered().use { file -> connection.asSource().buffered().transferTo(file) }
 * ```
 *
 * Reading blocks the thread: use it in [Dispatchers.IO] or on a virtual thread, or use [transferTo], which suspends.
 * One thread at a time can read.
 *
 * Reading throws [kotlinx.io.IOException] if the connection fails before the peer has finished, and
 * [java.io.InterruptedIOException] if the thread is interrupted. Closing the source leaves the connection open.
 */
public fun MessageConnection.asSource(): RawSource = MessageSource(this)

/**
 * Returns a blocking kotlinx-io sink for bytes to the peer. It collects the bytes into messages of [messageSize] bytes;
 * flushing sends the bytes collected so far. Closing the sink sends the rest and ends the stream
 * ([MessageConnection.finish]); the other direction stays open. While the peer does not read, writing waits.
 *
 * ```
 * SystemFileSystem.source(Path("file")).buffered().use { file ->
 *     connection.asSink().buffered().use { sink -> file.transferTo(sink) }
 * }
 * ```
 *
 * Writing blocks the thread: use it in [Dispatchers.IO] or on a virtual thread, or use [transferFrom], which suspends.
 * One thread at a time can write.
 *
 * Writing throws [kotlinx.io.IOException] if the connection fails or the peer does not take messages of this size, and
 * [java.io.InterruptedIOException] if the thread is interrupted.
 *
 * @param messageSize bytes of a message
 * @throws IllegalArgumentException if [messageSize] is not above 0, or 2 GiB and more
 */
public fun MessageConnection.asSink(messageSize: Long = MESSAGE_SIZE): RawSink {
    requireMessageSize(messageSize)
    return MessageSink(this, messageSize)
}

/**
 * Sends all bytes of a source, in messages of [messageSize] bytes. The stream stays open: call
 * [MessageConnection.finish] after the last part. Reads the source in [Dispatchers.IO], because sources block.
 * Cancellation takes effect between messages. The caller closes the source.
 *
 * @param messageSize bytes of a message
 * @return the number of bytes sent
 * @throws kotlinx.io.IOException if the source fails
 * @throws org.kverbs.RdmaException if the connection fails
 * @throws IllegalArgumentException if [messageSize] is not above 0, or 2 GiB and more, or more than the peer takes
 */
public suspend fun MessageConnection.transferFrom(
    source: RawSource,
    messageSize: Long = MESSAGE_SIZE,
): Long {
    requireMessageSize(messageSize)
    return withContext(Dispatchers.IO) {
        val buffer = Buffer()
        var sent = 0L
        do {
            val isLast = source.readAtMostTo(buffer, messageSize - buffer.size) < 0
            if (buffer.size == messageSize || (isLast && !buffer.exhausted())) {
                sent += buffer.size
                send(buffer.readByteArray())
            }
        } while (!isLast)
        sent
    }
}

/**
 * Writes all bytes of the peer to a sink until the peer has finished, and flushes the sink. Writes in [Dispatchers.IO],
 * because sinks block. The caller closes the sink.
 *
 * @return the number of bytes received
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

private fun requireMessageSize(bytes: Long) {
    require(bytes in 1..Int.MAX_VALUE) { "messageSize($bytes): give 1 to ${Int.MAX_VALUE}" }
}
