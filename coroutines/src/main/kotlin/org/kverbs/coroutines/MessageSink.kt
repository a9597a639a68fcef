package org.kverbs.coroutines

import kotlinx.io.Buffer
import kotlinx.io.RawSink
import kotlinx.io.readByteArray

/** Sends the bytes of a stream as messages; see [asSink]. */
internal class MessageSink(
    private val connection: MessageConnection,
    private val messageSize: Int,
) : RawSink {
    private val buffer = Buffer()
    private var isClosed = false

    override fun write(
        source: Buffer,
        byteCount: Long,
    ) {
        check(!isClosed) { "the sink was closed" }
        buffer.write(source, byteCount)
        while (buffer.size >= messageSize) send(messageSize)
    }

    override fun flush() {
        check(!isClosed) { "the sink was closed" }
        if (!buffer.exhausted()) send(buffer.size.toInt())
    }

    private fun send(length: Int) {
        val bytes = buffer.readByteArray(length)
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
