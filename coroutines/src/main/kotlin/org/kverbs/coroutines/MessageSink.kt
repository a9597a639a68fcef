package org.kverbs.coroutines

import kotlinx.io.Buffer
import kotlinx.io.RawSink
import kotlinx.io.readByteArray

/** Sends the bytes of a stream as messages; see [asSink]. */
internal class MessageSink(
    private val connection: MessageConnection,
    private val messageSize: Long,
) : RawSink {
    private val buffer = Buffer()
    private var isClosed = false

    override fun write(
        source: Buffer,
        byteCount: Long,
    ) {
        check(!isClosed) { "the sink was closed: write before the close" }
        buffer.write(source, byteCount)
        while (buffer.size >= messageSize) send(messageSize)
    }

    override fun flush() {
        check(!isClosed) { "the sink was closed: write before the close" }
        if (!buffer.exhausted()) send(buffer.size)
    }

    private fun send(length: Long) {
        val bytes = buffer.readByteArray(length.toInt())
        streaming { connection.send(bytes) }
    }

    override fun close() {
        if (isClosed) return
        try {
            flush()
            streaming { connection.finish() }
        } finally {
            isClosed = true
        }
    }
}
